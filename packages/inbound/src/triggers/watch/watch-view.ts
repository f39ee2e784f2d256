import type { watchApi } from '@flotilla/protocol/watch-api'
import type * as z from 'zod'
import type { ActiveWatch } from './scan-watch.ts'
import type { CheckedWatch, FiredWatch } from './show-watches.ts'
import type { WatchRule } from './watch-rule.ts'

type Answer<Name extends keyof typeof watchApi> = z.input<(typeof watchApi)[Name]['response']>

/** Returns an active watch in the form of the API. Pure. */
export function watchView(watch: ActiveWatch): Answer<'watchers'>['watchers'][number] {
  return {
    id: watch.rule.id,
    ...ruleView(watch.rule),
    files: watch.hasScanned ? watch.seen.size : null,
    waiting: watch.waiting,
    fired: watch.fired,
    passed_over: watch.passedOver,
    trouble: watch.trouble,
    held: watch.held,
    looked_at: watch.scannedAt,
    look_ms: watch.scanMs,
  }
}

export function checkedView({
  rule,
  files,
  names,
  trouble,
}: CheckedWatch): Answer<'watchersCheck'>['watchers'][number] {
  return { ...ruleView(rule), files, names: [...names], trouble }
}

/** Returns a history row with the current state of its run. Pure. */
export function firedView({ fired, run }: FiredWatch): Answer<'watcherHistory'>['fired'][number] {
  return {
    watch: fired.watch,
    agent_id: fired.agentId,
    filepath: fired.filepath,
    change: fired.change,
    size_bytes: fired.sizeBytes,
    fired_at: fired.firedAt,
    run_id: fired.runId,
    state: run?.state ?? null,
    outcome: run?.outcome?.text ?? null,
  }
}

function ruleView({ path, pattern, agent, message, whenText, line }: WatchRule) {
  return { path, pattern, agent, message, when: whenText, line }
}
