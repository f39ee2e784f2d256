import type { Facts, Finding, TaskFact } from '../facts.ts'

const terminal = ['done', 'failed', 'cancelled', 'blocked']

/** Each task ends, and whoever gave it away is told once. */
export function checkHandOffs({ tasks, notes, letters }: Facts): Finding[] {
  return tasks.flatMap((task) => {
    const found: Finding[] = []
    if (!terminal.includes(task.state)) {
      found.push({ check: 'task-open', what: 'a task never ended', evidence: [wordsOf(task)] })
    }
    if (task.parentRunId === null || !terminal.includes(task.state)) return found
    const told = notes.filter(
      ({ runId, source }) => runId === task.parentRunId && source.includes(task.id),
    ).length
    // A parent that ended before its child hears nothing, and its letter says so.
    const given = letters.filter(
      ({ recipient, source }) => recipient === `run:${task.parentRunId}` && source.includes(task.id),
    )
    const givenUp = given.some(({ state }) => state === 'undeliverable')
    if (told > 1 || (told === 0 && !givenUp)) {
      found.push({
        check: 'parent-told-not-once',
        what: `the parent of a task was told ${told} times`,
        evidence: [wordsOf(task), ...given.map(({ id, state }) => `${id} is ${state}`)],
      })
    }
    return found
  })
}

function wordsOf({ id, title, state, parentRunId, runId }: TaskFact): string {
  return `${id} "${title}" is ${state}; given by ${parentRunId ?? 'nobody'}, worked on by ${runId}`
}
