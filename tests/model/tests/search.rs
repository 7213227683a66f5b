//! Every mix of faults is searched to its end, and every rule is needed in some mix.

use std::collections::{HashMap, HashSet};

use matsu_model::mixes::Fault::{
    Cancel, Compete, Crash, Duplicate, EarlyLook, Extend, Later, Refused, Repeat, Sweep, Throttled, Unknown,
};
use matsu_model::mixes::{Fault, Mix};
use matsu_model::words::{Outcome, State};
use matsu_model::{Protocol, Rule};
use stateright::{Checker, HasDiscoveries, Model};

fn search(faults: Mix, without: Option<Rule>) -> impl Checker<Protocol> {
    let protocol = Protocol { mix: faults, without };
    protocol.checker().finish_when(HasDiscoveries::Any).spawn_bfs().join()
}

/// The steps that lead to each broken promise.
fn history(checker: &impl Checker<Protocol>) -> String {
    let broken = checker.discoveries().into_iter();
    broken
        .map(|(promise, path)| format!("\n{promise}: {:?}", path.into_actions()))
        .collect()
}

#[test]
fn every_promise_holds_in_every_state_of_every_mix_of_faults_figure() {
    let mixes = Mix::all();
    let (searched, mut states) = (mixes.len(), 0);
    println!("{:24} {:>9} {:>5}  result", "mix", "states", "depth");
    for mix in mixes {
        let name = mix.name.clone();
        let checker = search(mix, None);
        states += checker.unique_state_count();
        let (count, depth, broken) = (checker.unique_state_count(), checker.max_depth(), history(&checker));
        println!(
            "{name:24} {count:>9} {depth:>5}  {}",
            if broken.is_empty() { "holds" } else { "broken" }
        );
        assert!(broken.is_empty(), "{name}{broken}");
    }
    println!("{searched} mixes, {states} states");
    assert!(states > 1_000_000, "the searches have grown too small to mean anything");
}

/// Where a rule is missed, and what breaks there.
fn missed(rule: Rule) -> (&'static [Fault], &'static str) {
    const LOST: &str = "every wait ends and is announced";
    const TWO_LOOK: &str = "one run looks at a time";
    const TWO_WAITS: &str = "one wait for each request";
    match rule {
        Rule::SendBeforeAcknowledging => (&[Crash], LOST),
        Rule::ClaimOnCondition => (&[Duplicate], TWO_LOOK),
        Rule::TakeOverOnlyWhatWasSeen => (&[Duplicate], TWO_LOOK),
        Rule::TakeOverAfterALease => (&[Duplicate], TWO_LOOK),
        Rule::TakeOverCopiesTheRecord => (&[Crash], "an ended wait stays ended"),
        Rule::ReadBack => (&[Unknown], LOST),
        Rule::PutId => (&[Unknown, Refused], LOST),
        Rule::CopyIsAcknowledged => (
            &[EarlyLook, Duplicate],
            "one more look for each duplicate, death, unknown answer",
        ),
        Rule::RecordBeforeTelling => (&[Cancel], "the outcome that is told is the recorded one"),
        Rule::LaterIsSentAgain => (&[Later], LOST),
        Rule::OwedIsCarried => (&[Later, Compete], LOST),
        Rule::CancelSends => (&[Cancel], LOST),
        Rule::ExtendSends => (&[Extend], LOST),
        Rule::SweepThreshold => (&[Sweep], TWO_LOOK),
        Rule::SweepTakesTurns => (&[Sweep], "one message for each threshold passed"),
        Rule::OriginIsKnown => (&[Repeat], TWO_WAITS),
        Rule::HistoryIsKnown => (&[Repeat, Compete], TWO_WAITS),
        Rule::AbsentIsNoAnswer => (&[Unknown], LOST),
        Rule::EarlyLookAfterALease => (&[EarlyLook], TWO_LOOK),
        Rule::SharedJobIsStarted => (&[Throttled, Compete], "every job that is shared is started"),
    }
}

#[test]
fn every_rule_that_is_taken_away_is_missed_figure() {
    println!("{:24} {:24} {:>5}  broken first", "rule", "mix", "steps");
    for rule in Rule::ALL {
        let (faults, promise) = missed(rule);
        let mix = Mix::of(faults);
        let name = mix.name.clone();
        let checker = search(mix, Some(rule));
        let path = checker.discovery(promise);
        let steps = path.map(|path| path.into_actions().len());
        let Some(steps) = steps else {
            panic!(
                "without {rule:?} under {name} other things break: {}",
                history(&checker)
            );
        };
        println!("{:24} {name:24} {steps:>5}  {promise}", format!("{rule:?}"));
    }
}

/// Follows every history of a mix to its end; answers the outcomes of the waits that are over.
///
/// Panics where a history comes back to a state that it was in before: it could go on for ever.
fn follow(mix: Mix) -> HashSet<Outcome> {
    let protocol = Protocol { mix, without: None };
    let mut outcomes = HashSet::new();
    let mut ended: HashMap<State, bool> = HashMap::new();
    let mut path: Vec<(State, Vec<State>)> = Vec::new();
    let mut coming = protocol.init_states();
    loop {
        let Some(state) = coming.pop() else {
            let Some((state, rest)) = path.pop() else { break };
            ended.insert(state, true);
            coming = rest;
            continue;
        };
        match ended.get(&state) {
            Some(true) => continue,
            Some(false) => panic!("{} goes on for ever from {state:?}", protocol.mix.name),
            None => ended.insert(state.clone(), false),
        };
        outcomes.extend(
            state
                .store
                .filter(|record| record.is_over())
                .and_then(|record| record.outcome),
        );
        let next = protocol.next_states(&state);
        path.push((state, std::mem::replace(&mut coming, next)));
    }
    outcomes
}

#[test]
fn no_history_goes_on_for_ever_and_every_outcome_is_met() {
    let mut outcomes = HashSet::new();
    for fault in Fault::ALL {
        outcomes.extend(follow(Mix::of(&[fault])));
    }
    outcomes.extend(follow(Mix::of(&[Crash, Crash])));
    outcomes.extend(follow(Mix::of(&[Crash, Unknown])));
    assert_eq!(outcomes.len(), 5, "{outcomes:?}");
}
