# What people do here, by name. `just` alone lists it.

_default:
    @just --list

# The whole flow on this machine: no account, no network beyond loopback
demo:
    cargo run -p matsu -- demo

# Everything that CI checks
test:
    ./tests/run

# The quick checks: formatting, lints, the tests of the libraries
check:
    cargo fmt --check
    cargo clippy --workspace --all-targets -- -D warnings
    cargo test -p matsu-lock -p matsu-wait

# The two functions as they are deployed: small (slow to build: full link-time optimisation)
functions:
    cargo build --profile lambda -p matsu-starter -p matsu-waiter
