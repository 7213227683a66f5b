//! Tests across the packages. `./tests/run` builds and installs what they need.

mod clients;
mod contracts;
mod counts;
mod crew;
mod end_to_end;
mod formats;
mod ground;
mod harness;
mod http;
mod lambda;
mod proxy;
mod rds;
mod servers;
mod slack;
mod starts;
mod storm;
mod together;
mod waits;
mod weather;
mod workers;
mod zip;
