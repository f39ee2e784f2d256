/**
 * Who may take which action on a task, and the state that follows. One table for the allowed transitions, the tools
 * of agents, their texts and the command line's, so that these cannot contradict each other. Plain values: an agent
 * reads them without the schema library.
 */
export const taskStates = [
  'pending',
  'accepted',
  'working',
  'blocked',
  'done',
  'failed',
  'cancelled',
] as const
export type TaskState = (typeof taskStates)[number]

/** `giver`: the giver of the task, and people. `router`: agents that may route tasks, and people. */
export type TaskActor = 'assignee' | 'giver' | 'router' | 'mesh'

export interface TaskAction {
  readonly from: readonly TaskState[]
  readonly to: TaskState
  readonly by: TaskActor
  /** The agents' tool for the action; null if the mesh takes it by itself. */
  readonly tool: 'update_task' | 'complete_task' | 'manage_task' | null
  /** The description of the action for the agents and people that may take it. */
  readonly description: string
}

const notWorked = ['pending', 'accepted'] as const
const unblocked = [...notWorked, 'working'] as const
const open = [...unblocked, 'blocked'] as const

export const taskActions = {
  accept: {
    from: ['pending'],
    to: 'accepted',
    by: 'assignee',
    tool: 'update_task',
    description: 'you accept it and will start later',
  },
  progress: {
    from: unblocked,
    to: 'working',
    by: 'assignee',
    tool: 'update_task',
    description: 'a progress note, which the agent or person that gave the task can read',
  },
  block: {
    from: unblocked,
    to: 'blocked',
    by: 'assignee',
    tool: 'update_task',
    description:
      'you cannot continue without an answer: the note is your question, sent at once to the agent or person that gave the task; then end your turn, you are called again with the answer',
  },
  done: {
    from: unblocked,
    to: 'done',
    by: 'assignee',
    tool: 'complete_task',
    description: 'the task is done',
  },
  fail: {
    from: unblocked,
    to: 'failed',
    by: 'assignee',
    tool: 'complete_task',
    description: 'the task cannot be done',
  },
  blocked: {
    from: unblocked,
    to: 'blocked',
    by: 'assignee',
    tool: 'complete_task',
    description: 'something is missing that only others can provide; the summary says what',
  },
  answer: {
    from: ['blocked'],
    to: 'pending',
    by: 'giver',
    tool: 'manage_task',
    description: 'answers the question of a blocked task: its agent continues with your note',
  },
  retry: {
    from: ['blocked'],
    to: 'pending',
    by: 'router',
    tool: 'manage_task',
    description: 'lets a blocked task continue unchanged; creates a new task from a failed or cancelled one',
  },
  reroute: {
    from: open,
    to: 'pending',
    by: 'router',
    tool: 'manage_task',
    description: 'takes an open task from its agent and gives it to the agent `to`',
  },
  cancel: {
    from: open,
    to: 'cancelled',
    by: 'giver',
    tool: 'manage_task',
    description: 'cancels an open task together with its subtasks',
  },
  begin: {
    from: [...notWorked, 'blocked'],
    to: 'working',
    by: 'mesh',
    tool: null,
    description: 'the run of the task began',
  },
  assume: {
    from: unblocked,
    to: 'done',
    by: 'mesh',
    tool: null,
    description:
      'the agent ended without complete_task although it was reminded; its last text is the unconfirmed result',
  },
  lose: {
    from: unblocked,
    to: 'blocked',
    by: 'mesh',
    tool: null,
    description: 'the fleet could not work on the task, or a task that it needs failed',
  },
} as const satisfies Record<string, TaskAction>
export type TaskActionName = keyof typeof taskActions

type NamesFor<Tool extends TaskAction['tool']> = {
  [Name in TaskActionName]: (typeof taskActions)[Name]['tool'] extends Tool ? Name : never
}[TaskActionName]

export const updateActions = ['accept', 'progress', 'block'] as const satisfies NamesFor<'update_task'>[]
export type UpdateAction = (typeof updateActions)[number]
export const manageActions = [
  'answer',
  'retry',
  'reroute',
  'cancel',
] as const satisfies NamesFor<'manage_task'>[]
export type ManageAction = (typeof manageActions)[number]

/** The statuses that `complete_task` accepts, and the action of each. */
export const completeStatuses = {
  done: 'done',
  failed: 'fail',
  blocked: 'blocked',
} as const satisfies Record<string, NamesFor<'complete_task'>>

/** One line `- name: description` per action, for tools and help. */
export function actionWords(names: readonly TaskActionName[]): string {
  return names.map((name) => `${name}: ${taskActions[name].description}`).join('; ')
}

/** The allowed next states of each state; terminal states have none. */
export const taskTransitions: Readonly<Record<TaskState, readonly TaskState[]>> = {
  pending: followers('pending'),
  accepted: followers('accepted'),
  working: followers('working'),
  blocked: followers('blocked'),
  done: followers('done'),
  failed: followers('failed'),
  cancelled: followers('cancelled'),
}

function followers(state: TaskState): readonly TaskState[] {
  const actions: readonly TaskAction[] = Object.values(taskActions)
  return taskStates.filter((to) => actions.some((action) => action.to === to && action.from.includes(state)))
}

/** Ended states in which `retry` creates a new task from the old one. */
export const triedAgainAsNew = ['failed', 'cancelled'] as const satisfies readonly TaskState[]

export function isTaskOpen(state: TaskState): boolean {
  return taskTransitions[state].length > 0
}

/** Whether the action is allowed for a task in that state. */
export function mayAct(name: TaskActionName, state: TaskState): boolean {
  const action: TaskAction = taskActions[name]
  return action.from.includes(state)
}

/** The beginning of the summary of a task that its agent did not close itself. */
const unconfirmedStart = 'Unconfirmed (the agent ended without complete_task). Its last words: '

/** The summary of a task whose agent answered without calling `complete_task`. Pure. */
export function unconfirmedSummary(lastWords: string): string {
  return `${unconfirmedStart}${lastWords}`
}

/** Returns a summary without the note that its task is unconfirmed, which a label can show. Pure. */
export function withoutUnconfirmedNote(summary: string): string {
  return summary.startsWith(unconfirmedStart) ? summary.slice(unconfirmedStart.length) : summary
}

/** True if the task counts as done because its agent's run ended, and its giver has not reviewed it yet. Pure. */
export function isUnconfirmed(task: {
  readonly state: TaskState
  readonly summary: string | null
  readonly outcome: TaskOutcome | null
}): boolean {
  return (
    task.state === 'done' && task.outcome === null && (task.summary?.startsWith(unconfirmedStart) ?? false)
  )
}

/** The verdict of the giver of a task. */
export const taskOutcomes = ['accepted', 'rework', 'rejected'] as const
export type TaskOutcome = (typeof taskOutcomes)[number]

export const outcomeWords: Readonly<Record<TaskOutcome, string>> = {
  accepted: 'the result is what you wanted',
  rework: 'the task must be done again with your comment: the same agent gets a new task',
  rejected: 'the result is of no use',
}

/** Why a task is blocked: its agent's question, a failure of the fleet, a dependency, or its budget. */
export const blockers = ['question', 'infrastructure', 'dependency', 'budget'] as const
export type Blocker = (typeof blockers)[number]

export const taskLimits = {
  /** The maximum length of a progress note, question or answer about a task, in characters. */
  noteMaxChars: 4000,
  /** The maximum length of the feedback on a task's result, in characters. */
  feedbackMaxChars: 2000,
  /** The maximum number of tasks that one task may wait for. */
  needsMax: 20,
  /** The maximum number of artifacts that one task names. */
  artifactsMax: 20,
  /** The maximum number of progress notes on one task. */
  progressMax: 200,
  /** The maximum number of tasks that wait for other tasks or for room in a lane: of one agent, and in total. */
  waitingPerAgentMax: 200,
  waitingMax: 5000,
  /** The maximum number of rows of one task's history that are shown. */
  historyMax: 200,
  /** How many outcomes of an agent's tasks are kept as feedback for the agent, newest first. */
  feedbackKeptMax: 50,
  /** How long ended tasks are kept, in milliseconds. */
  retentionMs: 90 * 24 * 3600 * 1000,
} as const
