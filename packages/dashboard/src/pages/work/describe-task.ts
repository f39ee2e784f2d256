import { isProblemCode } from '@flotilla/protocol/problem-catalog'
import type { ProblemCode } from '@flotilla/protocol/problem-catalog'
import { isUnconfirmed, withoutUnconfirmedNote } from '@flotilla/protocol/task-actions'
import type { TaskView } from '@flotilla/protocol/task'
import { describeUsedUpBudget } from '../../data/describe-used-up-budget.ts'

/** What a card says about its task. */
export interface TaskDescription {
  /** Empty if there is nothing to say. */
  readonly words: string
  /** The problem that stopped the task; null if none did. */
  readonly code: ProblemCode | null
}

const problemPattern = /^([a-z][a-z-]+): ([^]*)$/

/** Returns the newest words about a task. A problem that the mesh reports is in the words of a person. Pure. */
export function describeTask(task: TaskView, now: number): TaskDescription {
  const words = task.waits_for ?? task.summary ?? task.progress ?? ''
  if (isUnconfirmed(task)) return { words: withoutUnconfirmedNote(words), code: null }
  const [, code = '', text = ''] = isStoppedByProblem(task) ? (problemPattern.exec(words) ?? []) : []
  if (!isProblemCode(code)) return { words, code: null }
  return { words: (code === 'budget-exhausted' ? describeUsedUpBudget(text, now) : null) ?? text, code }
}

function isStoppedByProblem({ state, blocked_by: by }: TaskView): boolean {
  return state === 'failed' || (state === 'blocked' && (by === 'budget' || by === 'infrastructure'))
}
