import { formatHarness } from '@flotilla/protocol/agent-harness'
import { harnessSchema } from '@flotilla/protocol/harness'
import { permissionTitles, permissionValue } from '../agent/format-permission.ts'
import { isPermissionField } from '../agent/permission-edit.ts'
import { sizeWords } from '../agent/size-edit.ts'
import { watchDeliveryLabels } from '../blackboard/watch-delivery-labels.ts'
import { formatSchedule } from '../triggers/format-schedule.ts'

/** How a plan names a field of an item, and how it formats the value. */
interface FieldWords {
  readonly title: string
  readonly value?: (text: string) => string
}

const yesOrNo = (text: string) => ({ true: 'yes', false: 'no' })[text] ?? formatPlanValue(text)
const orNone = (words: string) => (text: string) =>
  text === 'null' || text === '' ? words : formatPlanValue(text)
const schedule = (text: string) => {
  const words = formatSchedule(text)
  return words === text || text === 'null' ? formatPlanValue(text) : `${words} (${text})`
}
/** Formats a setting with its unit; without it the setting of the fleet applies. */
const setting = (title: string, unit = ''): FieldWords => ({
  title,
  value: (text) => (text === 'null' ? 'as the fleet has it' : `${formatPlanValue(text)}${unit}`),
})

/** The fields of the items of a plan, in the words of the pages that show them. */
const fields: Readonly<Record<string, FieldWords>> = {
  role: { title: 'Role' },
  model: { title: 'Model', value: orNone('the fleet’s default') },
  instructions: { title: 'Instructions' },
  budget: { title: 'Budget' },
  project: { title: 'Project' },
  heartbeat: { title: 'Heartbeat', value: schedule },
  mcpServers: { title: 'MCP servers' },
  agent: { title: 'Agent' },
  schedule: { title: 'Schedule', value: schedule },
  timezone: { title: 'Time zone' },
  enabled: { title: 'Switched on', value: yesOrNo },
  suppress_empty: { title: 'Answers that say nothing new are left out', value: yesOrNo },
  message: { title: 'Message to the agent' },
  tool_name: { title: 'Tool that it calls' },
  tool_params: { title: 'Parameters of the tool' },
  when: { title: 'Only when', value: orNone('always') },
  per_minute: { title: 'Events a minute, at most', value: orNone('as the fleet has it') },
  repeats: {
    title: 'A body that came before',
    value: (text) => ({ refuse: 'is the same event', accept: 'is a new event' })[text] ?? text,
  },
  signed: { title: 'The sender must sign each event', value: yesOrNo },
  tell: {
    title: 'The agent learns of it',
    value: (text) => watchDeliveryLabels[text as keyof typeof watchDeliveryLabels] ?? text,
  },
  goal: { title: 'Goal' },
  criteria: { title: 'Criteria' },
  'settings.models': setting('More models'),
  'settings.data_limit_mb': setting('Data below /data, at most', ' MB'),
  'settings.hibernate_after_minutes': setting('Hibernates after', ' minutes without work'),
  'settings.allowed_hosts': setting('The only hosts that it may reach'),
  'settings.isolation': setting('Isolation'),
  'settings.isolation_mode': setting('That isolation is'),
  'settings.answers': setting('Answers'),
  'settings.size': setting('Size'),
  'settings.packages': setting('Packages'),
  'settings.image': setting('Image'),
  'settings.harness': { title: 'Driven by', value: harness },
}

/** Words for the members of values that are objects; others are shown with spaces in place of `_`. */
const members: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries(sizeWords).map(([name, { label, unit }]) => [
      name,
      unit === '' ? label : `${label}, ${unit}`,
    ]),
  ),
  chat: 'in a chat',
  task: 'in a task',
  heartbeat: 'in a heartbeat',
  max_output_tokens: 'tokens of one answer, at most',
}

/** Names a field of a plan in the words of the pages. Pure. */
export function planFieldTitle(field: string): string {
  const known = Object.hasOwn(fields, field) ? fields[field] : undefined
  if (known !== undefined) return known.title
  const permission = permissionOf(field)
  if (permission !== null) return `May: ${permissionTitles[permission]}`
  if (field.startsWith('/data/skills/')) return `Skill ${field.slice('/data/skills/'.length)}`
  if (field.startsWith('/data/')) return `File ${field}`
  if (field.startsWith('section ')) return `Section “${field.slice('section '.length)}”`
  return memberWords(field)
}

/** Formats the value of a field of a plan for people. Pure. */
export function planFieldValue(field: string, text: string): string {
  const known = Object.hasOwn(fields, field) ? fields[field] : undefined
  if (known !== undefined) return known.value?.(text) ?? formatPlanValue(text)
  if (permissionOf(field) !== null) return permissionValue(parsed(text))
  return field.startsWith('/data/') || field.startsWith('section ') ? text : formatPlanValue(text)
}

function harness(text: string): string {
  const read = harnessSchema.safeParse(parsed(text))
  return read.success ? formatHarness(read.data) : text === 'null' ? 'its own loop' : text
}

function permissionOf(field: string) {
  const name = field.replace(/^permissions\./, '')
  return name !== field && isPermissionField(name) ? name : null
}

/** Formats JSON of a value for people: lists without brackets and quotes, objects as `name: value`. Pure. */
export function formatPlanValue(text: string): string {
  if (text === 'null' || text === '') return 'none'
  const value = /^[[{]/.test(text) ? parsed(text) : text
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return part(value)
  const lines = Object.entries(value).map(([name, inner]) => `${memberWords(name)}: ${part(inner)}`)
  return lines.length === 0 ? 'none' : lines.join('\n')
}

function part(value: unknown): string {
  if (value === true || value === false) return value ? 'yes' : 'no'
  if (value === null) return 'none'
  if (typeof value !== 'object') return typeof value === 'string' ? value : JSON.stringify(value)
  const parts = Array.isArray(value)
    ? value.map(part)
    : Object.entries(value).map(([name, inner]) => `${memberWords(name)} ${part(inner)}`)
  return parts.length === 0 ? 'none' : parts.join(', ')
}

function memberWords(name: string): string {
  return (Object.hasOwn(members, name) ? members[name] : undefined) ?? name.replaceAll('_', ' ')
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
