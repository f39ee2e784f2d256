/** One section of the message of a heartbeat. */
export interface HeartbeatSection {
  readonly title: string
  readonly text: string
  /** True if the section holds what the heartbeat saw, not what each heartbeat says. */
  readonly isSight: boolean
}

const sightTitles: readonly string[] = [
  'Alerts',
  'What changed in the fleet since your last heartbeat',
  'Pending',
]
const ruleTitles: readonly string[] = ['Hard rules', 'Your rules (HEARTBEAT.md)', 'Recent daily logs']

/**
 * Divides the message of a heartbeat into its sections. A rule or log may contain the title of a section, so titles of
 * sights are searched from the end and titles of rules from the beginning. Pure.
 */
export function heartbeatSections(message: string): readonly HeartbeatSection[] {
  const places = [...ruleTitles, ...sightTitles].flatMap((title) => {
    const isSight = sightTitles.includes(title)
    const heading = `# ${title}\n`
    const at = message.startsWith(heading)
      ? 0
      : isSight
        ? message.lastIndexOf(`\n\n${heading}`)
        : message.indexOf(`\n\n${heading}`)
    return at === -1 ? [] : [{ title, isSight, at, from: at + heading.length + (at === 0 ? 0 : 2) }]
  })
  const inOrder = places.toSorted((one, other) => one.at - other.at)
  return inOrder.map(({ title, isSight, from }, index) => {
    const text = message.slice(from, inOrder[index + 1]?.at ?? message.length)
    return { title, isSight, text: text.trim() }
  })
}

/** Returns in a few words what a heartbeat was asked to look at: its alerts. Pure. */
export function describeHeartbeatMessage(message: string): string {
  const alerts = heartbeatSections(message).find(({ title }) => title === 'Alerts')?.text ?? ''
  const lines = alerts.split('\n').flatMap((line) => /^- \w+: (.+?)\.?$/.exec(line)?.[1] ?? [])
  return lines.length === 0 ? 'Heartbeat' : `Heartbeat: ${lines.join('; ')}`
}
