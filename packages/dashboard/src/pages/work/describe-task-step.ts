import type { TaskActionName } from '@flotilla/protocol/task-actions'

/** The steps in the history of a task, as sentences about their actor. */
const stepWords: Readonly<Record<TaskActionName | 'given' | 'review', string>> = {
  given: 'gave the task',
  accept: 'accepted the task',
  begin: 'started a run',
  progress: 'reported progress',
  block: 'reported that it is blocked',
  blocked: 'reported that it is blocked',
  done: 'finished the task',
  fail: 'gave up',
  answer: 'answered the question',
  retry: 'let it continue',
  reroute: 'gave it to another agent',
  cancel: 'cancelled the task',
  lose: 'stopped it',
  assume: 'took the last words as the result',
  review: 'reviewed the result',
}

/** Returns a step in words; a step of another release keeps its name. Pure. */
export function describeTaskStep(action: string): string {
  return Object.hasOwn(stepWords, action) ? stepWords[action as keyof typeof stepWords] : action
}
