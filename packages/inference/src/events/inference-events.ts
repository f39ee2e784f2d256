import { createQuestion } from '@flotilla/foundation/events'
import type { Question } from '@flotilla/foundation/events'
import type { WorkKernel } from '@flotilla/work/events'

/** A setting or record that a caller has just changed; the answer to that call includes notices about it. */
export type SetThing =
  | { readonly kind: 'permissions'; readonly agentId: string }
  | {
      readonly kind: 'budget'
      /** The name of the budget for people, such as `the daily budget of scout`. */
      readonly name: string
      /** The agent whose budget it is; null for the budget of a project or of the fleet. */
      readonly agentId: string | null
      readonly dailyUsd: number | null
      readonly monthlyUsd: number | null
    }

/** The questions that inference asks the contexts above. */
export interface InferenceEvents {
  /** Why a change has no effect, one sentence each with its repair. */
  readonly setNotices: Question<SetThing, string>
}

/** What modules that use these events receive: the kernel, with the events of contexts below. */
export interface InferenceKernel extends WorkKernel {
  readonly inferenceEvents: InferenceEvents
}

export function createInferenceEvents(): InferenceEvents {
  return { setNotices: createQuestion() }
}
