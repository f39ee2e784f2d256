import { isTerminal, runStates } from '@flotilla/protocol/run'
import type { Facts, Finding, RunFact } from '../facts.ts'

const terminal: readonly string[] = runStates.filter(isTerminal)

/** Checks that each run ends once, and that one idempotency key gives one run. */
export function checkRuns({ runs, endings, asked }: Facts): Finding[] {
  const byKey = Map.groupBy(
    runs.filter((run) => run.key !== null),
    (run) => run.key ?? '',
  )
  return [
    ...runs
      .filter((run) => !terminal.includes(run.state) || run.outcome === null)
      .map((run) => finding('run-without-end', 'a run has no terminal outcome', [describeRun(run)])),
    ...runs
      .filter((run) => terminal.includes(run.state) && endings.get(run.id) !== 1)
      .map((run) =>
        finding('run-ended-not-once', `a run ended ${endings.get(run.id) ?? 0} times by the journal`, [
          describeRun(run),
        ]),
      ),
    ...[...byKey]
      .filter(([, found]) => found.length > 1)
      .map(([key, found]) =>
        finding('key-with-two-runs', `the key ${key} has two runs`, found.map(describeRun)),
      ),
    ...asked
      .filter(({ runIds }) => runIds.length > 1)
      .map(({ key, runIds }) =>
        finding('key-with-two-runs', `who asked under ${key} was told of two runs`, runIds),
      ),
    ...asked
      .filter((one) => one.accepted && one.runIds.some((id) => !runs.some((run) => run.id === id)))
      .map(({ key, runIds }) => finding('run-lost', `what was taken under ${key} is in no row`, runIds)),
  ]
}

export function describeRun(run: RunFact): string {
  const outcome = run.outcome === null ? 'no outcome' : (run.outcome.code ?? run.outcome.status)
  return `${run.id} of ${run.agentId} (${run.marker ?? 'no plan'}), asked by ${run.origin}, is ${run.state}: ${outcome}`
}

function finding(check: string, what: string, evidence: readonly string[]): Finding {
  return { check, what, evidence }
}
