import type { DemoChoice } from './choose-demo.ts'
import { noModelNotice } from './no-model-notice.ts'

/** The decision: a model that has answered, the recorded demo with its question, or nothing yet. */
export type ModelChoice =
  | { readonly kind: 'model'; readonly model: string }
  | DemoChoice
  /** `standing` is the model that agents use until a choice is made; null for none. */
  | { readonly kind: 'later'; readonly standing: string | null }

/** What was chosen, and what comes next, as lines. Pure. */
export function choiceLines(choice: ModelChoice): string[] {
  if (choice.kind === 'model') return [`Agents use the model ${choice.model}; the test call succeeded.`]
  if (choice.kind === 'later')
    return [choice.standing === null ? noModelNotice : `Agents use the model ${choice.standing}, as before.`]
  return [
    'Agents use the scripted model: its answers are recorded, but every tool call is real. It knows one question:',
    `  flotilla chat ${choice.agent} "${choice.question}"`,
  ]
}
