import type { DemoChoice } from './choose-demo.ts'
import { noModelNotice } from './no-model-notice.ts'

/** What was decided on: a model that has answered, the recorded demo with what to ask it, or nothing yet. */
export type ModelChoice =
  | { readonly kind: 'model'; readonly model: string }
  | DemoChoice
  /** What agents think with until then, or null. */
  | { readonly kind: 'later'; readonly standing: string | null }

/** What was chosen, and what comes next, as lines. Pure. */
export function choiceLines(choice: ModelChoice): string[] {
  if (choice.kind === 'model') return [`Agents think with ${choice.model}; it has answered.`]
  if (choice.kind === 'later')
    return [choice.standing === null ? noModelNotice : `Agents think with ${choice.standing}, as before.`]
  return [
    'A recording thinks for the fleet; every call of a tool is real. Ask it what it knows:',
    `  flotilla chat ${choice.agent} "${choice.question}"`,
  ]
}
