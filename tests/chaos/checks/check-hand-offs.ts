import type { Facts, Finding, TaskFact } from '../facts.ts'

const terminal = ['done', 'failed', 'cancelled', 'blocked']

/** Each task ends, and whoever gave it away is told once. */
export function checkHandOffs({ tasks, notes, letters }: Facts): Finding[] {
  return tasks.flatMap((task) => {
    const found: Finding[] = []
    if (!terminal.includes(task.state)) {
      found.push({ check: 'task-open', what: 'a task never ended', evidence: [describeTask(task)] })
    }
    if (task.parentRunId === null || !terminal.includes(task.state)) return found
    // A question and its answer are news of their own, each of its round.
    const isOfEnd = (source: string) =>
      source === `task:${task.id}:${task.state}` || source.startsWith(`task:${task.id}:${task.state}:`)
    const told = notes.filter(({ runId, source }) => runId === task.parentRunId && isOfEnd(source)).length
    // A parent that ended before its child hears nothing, and its letter says so.
    const given = letters.filter(
      ({ recipient, source }) => recipient === `run:${task.parentRunId}` && isOfEnd(source),
    )
    const givenUp = given.some(({ state }) => state === 'undeliverable')
    // Nobody is told a second time of a task that was blocked for good and ended with its agent.
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
