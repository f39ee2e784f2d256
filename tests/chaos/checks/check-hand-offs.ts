import type { Facts, Finding, TaskFact } from '../facts.ts'

const terminal = ['done', 'failed', 'cancelled', 'blocked']

/** Checks that each task ends, and that the run that handed it off is notified once. */
export function checkHandOffs({ tasks, notes, letters }: Facts): Finding[] {
  return tasks.flatMap((task) => {
    const found: Finding[] = []
    if (!terminal.includes(task.state)) {
      found.push({ check: 'task-open', what: 'a task never ended', evidence: [describeTask(task)] })
    }
    if (task.parentRunId === null || !terminal.includes(task.state)) return found
    // A question and its answer have notifications of their own, one for each round; they are not counted here.
    const isOfEnd = (source: string) =>
      source === `task:${task.id}:${task.state}` || source.startsWith(`task:${task.id}:${task.state}:`)
    const told = notes.filter(({ runId, source }) => runId === task.parentRunId && isOfEnd(source)).length
    // A parent run that ended before its task gets no note; its outbox row is `undeliverable` instead.
    const given = letters.filter(
      ({ recipient, source }) => recipient === `run:${task.parentRunId}` && isOfEnd(source),
    )
    const givenUp = given.some(({ state }) => state === 'undeliverable')
    // A task that was blocked and then cancelled with its agent sends only the notification that it is blocked.
    const blocked = notes.some(({ source }) => source.startsWith(`task:${task.id}:blocked`))
    if (told === 0 && task.state === 'cancelled' && blocked) return found
    const often = task.state !== 'blocked' && told > 1
    if (often || (told === 0 && !givenUp)) {
      found.push({
        check: 'parent-told-not-once',
        what: `the parent of a task was told ${told} times`,
        evidence: [describeTask(task), ...given.map(({ id, state }) => `${id} is ${state}`)],
      })
    }
    return found
  })
}

function describeTask({ id, title, state, parentRunId, runId }: TaskFact): string {
  return `${id} "${title}" is ${state}; given by ${parentRunId ?? 'nobody'}, worked on by ${runId}`
}
