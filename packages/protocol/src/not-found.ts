import { Problem } from './problem.ts'

const repairs = {
  run: 'List the runs: flotilla runs.',
  task: 'List the tasks: flotilla tasks.',
  approval: 'List what waits for you: flotilla pending.',
  webhook: 'List the webhooks: flotilla webhooks list.',
  change: 'List the changes, and which can be undone: flotilla changes.',
} as const

/** The problem of an id that no thing of a kind has, with the command that lists this kind. Pure. */
export function notFound(kind: keyof typeof repairs, detail: string): Problem {
  return new Problem('not-found', { detail, repair: repairs[kind] })
}

const shownIdMaxChars = 60

/** The problem of the id of a run that does not exist; the id comes from a caller, so it is shortened. Pure. */
export function noSuchRun(runId: string): Problem {
  return notFound('run', `there is no run ${runId.slice(0, shownIdMaxChars)}`)
}
