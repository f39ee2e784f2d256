import { Problem } from './problem.ts'

const repairs = {
  run: 'flotilla runs lists the runs.',
  task: 'flotilla tasks lists the tasks.',
  approval: 'flotilla pending lists what waits for you.',
  webhook: 'flotilla webhooks list shows all webhooks.',
  change: 'flotilla changes lists the changes, and which can be undone.',
} as const

/** The problem of an id that no thing of a kind has, with the command that lists this kind. Pure. */
export function notFound(kind: keyof typeof repairs, detail: string): Problem {
  return new Problem('not-found', { detail, repair: repairs[kind] })
}
