/** The time that an agent writes behind the first message of a task, a heartbeat or a sub-agent. */
const momentBehind = /\n\n\[It is [A-Z][a-z]+, \d{4}-\d\d-\d\d \d\d:\d\d UTC\.\]$/

/** Returns a message without the time behind it, which differs in each run. Pure. */
export function withoutMoment(text: string): string {
  return text.replace(momentBehind, '')
}
