import {
  isTaskOpen,
  manageActions,
  mayAct,
  taskOutcomes,
  taskStates,
  triedAgainAsNew,
} from '@flotilla/protocol/task-actions'
import type { ManageAction, TaskOutcome, TaskState } from '@flotilla/protocol/task-actions'
import type { TaskView } from '@flotilla/protocol/task'
import type { Tone } from '../../live/state-tone.ts'

type Judged = Pick<TaskView, 'id' | 'state' | 'outcome'>

/** The actions and review outcomes that a person can choose for a task in its current state. */
export interface TaskOffers {
  readonly manage: readonly ManageAction[]
  readonly review: readonly TaskOutcome[]
}

/** Returns the actions for a task. `again`: ids of tasks that were given again, possible once each. Pure. */
export function offersOf(task: Judged, again: ReadonlySet<string>): TaskOffers {
  const isGivenAnew = again.has(task.id)
  return {
    manage: manageActions.filter((action) =>
      action === 'retry' && isAsNew(task.state) ? !isGivenAnew : mayAct(action, task.state),
    ),
    review: waitsForVerdict(task)
      ? taskOutcomes.filter((outcome) => outcome !== 'rework' || !isGivenAnew)
      : [],
  }
}

/** True if the task has ended with a result that was not reviewed; a cancelled task has no result. Pure. */
export function waitsForVerdict({ state, outcome }: Pick<Judged, 'state' | 'outcome'>): boolean {
  return !isTaskOpen(state) && state !== 'cancelled' && outcome === null
}

function isAsNew(state: TaskState): boolean {
  return (triedAgainAsNew as readonly TaskState[]).includes(state)
}

/** Returns the ids of tasks that were given again as a new task. Pure. */
export function givenAnew(tasks: readonly Pick<TaskView, 'previous_task_id'>[]): ReadonlySet<string> {
  return new Set(tasks.flatMap(({ previous_task_id: id }) => id ?? []))
}

/** Groups tasks by state, in the order of `taskStates`. Pure. */
export function columnsOf<Task extends Pick<TaskView, 'state'>>(
  tasks: readonly Task[],
): readonly { readonly state: TaskState; readonly tasks: readonly Task[] }[] {
  return taskStates.map((state) => ({ state, tasks: tasks.filter((task) => task.state === state) }))
}

export function taskTone(state: TaskState): Tone {
  switch (state) {
    case 'pending':
    case 'accepted':
    case 'cancelled':
      return 'neutral'
    case 'working':
      return 'busy'
    case 'blocked':
      return 'warn'
    case 'done':
      return 'ok'
    case 'failed':
      return 'bad'
  }
}

export function outcomeTone(outcome: TaskOutcome): Tone {
  return outcome === 'accepted' ? 'ok' : outcome === 'rework' ? 'warn' : 'bad'
}
