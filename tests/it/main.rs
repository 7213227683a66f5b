//! Tests across the packages. `./tests/run` builds and installs what they need.

mod clients;
mod contracts;
mod end_to_end;
mod formats;
mod harness;
mod http;
mod lambda;
mod proxy;
mod rds;
mod servers;
mod slack;
mod starts;
mod zip;
