import { limits } from '@flotilla/protocol/limits'
import { operatorFlags, operatorTools } from '@flotilla/protocol/operator-tools'
import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import { joinPromptText, sanitizeForPrompt, truncatePromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { AgentRecord } from '../registry/agent-record.ts'

/** SYSTEM.md: the agent's identity, the agents it may give work to, and its permissions. Pure. */

const briefMaxChars = limits.workspaceFileMaxChars['SYSTEM.md']
/** The maximum length of the agent's own role in its SYSTEM.md, in characters. */
const roleMaxChars = 500
/** The maximum length of another agent's role in SYSTEM.md, in characters. */
const colleagueMaxChars = 160
/** The maximum length of the list of other agents in SYSTEM.md, in characters. */
const rosterMaxChars = 2000
/** The maximum length of one line about permissions in SYSTEM.md, in characters. */
const permissionLineMaxChars = 240

/** Another agent that the agent of this SYSTEM.md may message. */
export interface Colleague {
  readonly id: string
  readonly role: string
}

/**
 * Returns the text of SYSTEM.md. Equal facts give equal bytes, so that a provider's prompt cache is valid between
 * refreshes. At most 6000 characters; the roster is the longest part, so it is cut first, with a note.
 */
export function systemBrief(facts: {
  readonly agent: AgentRecord
  /** The agents that this agent may message, by id. */
  readonly colleagues: readonly Colleague[]
  /** The agent's permission record; null if the agent has no record and therefore no permissions. */
  readonly permissions: PermissionRecord | null
}): PromptText {
  const { agent, permissions } = facts
  const routes = mayRoute(permissions)
  const before = [
    identity(agent),
    agent.kind === 'operator' ? leadWork(routes) : doWork(routes, permissions),
    sharedRules,
  ]
  const after = [
    ...(agent.kind === 'operator' ? managing(permissions) : []),
    permissionsInWords(permissions, agent.kind),
    sanitizeForPrompt(
      `## Your budget\n\nAt most ${agent.budget.dailyUsd} US dollars a day and ${agent.budget.monthlyUsd} a month (UTC) for model calls. When it is used up, calls are refused until the next day or month; say so and stop.`,
    ),
  ]
  // The roster gets the remaining space, because the agent can request the list of its colleagues with a tool.
  const room = briefMaxChars - [...before, ...after].reduce((sum, { length }) => sum + length + 2, 0) - 200
  const team = routes ? [roster(facts.colleagues, Math.max(0, Math.min(rosterMaxChars, room)))] : []
  return truncatePromptText(joinPromptText([...before, ...team, ...after], '\n\n'), briefMaxChars)
}

function identity(agent: AgentRecord): PromptText {
  const article = agent.kind === 'operator' ? 'the operator' : 'a worker'
  return joinPromptText(
    [
      sanitizeForPrompt(
        `# Who you are\n\nYou are the agent \`${agent.id}\`, ${article} of this fleet. The mesh, outside your container, decides what you may do. What it refuses stays refused: say so instead of trying again.`,
      ),
      joinPromptText([sanitizeForPrompt('Your role:'), oneLine(agent.role, roleMaxChars)], ' '),
    ],
    '\n\n',
  )
}

/** Returns whether the agent may give work to at least one agent; if not, SYSTEM.md does not describe hand-offs. */
function mayRoute(record: PermissionRecord | null): boolean {
  return record !== null && record.can_route_tasks && record.can_message.length > 0
}

function leadWork(routes: boolean): PromptText {
  return routes ? leadOthers : leadAlone
}

const leadAlone = sanitizeForPrompt(`## How you work

People talk to you. You may give no work to others: answer what you can yourself, and say plainly what you cannot do.`)

const leadOthers = sanitizeForPrompt(`## How you work

People talk to you. Answer short questions yourself. Give everything else to the worker whose role fits:

- \`hand_off\` gives a task to a worker. Put everything the worker needs into title, description and data: it does not see this conversation. When the tool says that the task is queued, it is; do not send it again.
- After handing off, end your turn with one sentence about what is under way. Do not wait, poll or call tools to pass the time: when the task is finished, its result comes back to you by itself and you go on from there.
- When a result comes back, check it against what was asked. Then answer the person with the facts and figures of the result; say plainly what failed.
- A task that comes back blocked with a question is answered with \`manage_task\`, by you or with what the person says.
- Independent pieces can be handed to several workers in one turn.`)

function doWork(routes: boolean, record: PermissionRecord | null): PromptText {
  const more = [...(routes ? [givePart] : []), ...(record?.can_spawn === true ? [answerMade] : [])]
  return joinPromptText([doTasks, ...more], '\n')
}

const answerMade = sanitizeForPrompt(
  '- An agent that you created with `spawn_fleet_agent` may ask you something: its task comes back to you blocked, with the question. Answer with `manage_task`, action `answer`; it goes on from there.',
)

const givePart = sanitizeForPrompt(
  '- `hand_off` gives a part to another agent; it returns at once and the result comes back by itself. Never hand a task back to the agent that gave it to you.',
)

const doTasks = sanitizeForPrompt(`## How you work

- A task ends when you call \`complete_task\`, and only then: the last words of a turn do not close it. Its giver is notified.
- \`update_task\` with \`block\` asks the giver of the task a question: end your turn then, you are called again with the answer. With \`progress\` it notes how far you are.`)

const sharedRules = sanitizeForPrompt(`## What the fleet shares

- The blackboard holds small facts for all: keys are paths such as \`tasks/report/summary\`, values are JSON.
- \`save_artifact\` keeps a finished file for the owner outside your container, up to 2 MB; the same name replaces it.`)

function roster(colleagues: readonly Colleague[], maxChars: number): PromptText {
  const title = sanitizeForPrompt('## Whom you may give work to\n')
  if (colleagues.length === 0) return joinPromptText([title, sanitizeForPrompt('No other agents.')], '\n')
  const lines: PromptText[] = []
  let size = 0
  for (const colleague of colleagues) {
    const line = joinPromptText(
      [sanitizeForPrompt(`- \`${colleague.id}\``), oneLine(colleague.role, colleagueMaxChars)],
      ': ',
    )
    size += line.length + 1
    if (size > maxChars) break
    lines.push(line)
  }
  const left = colleagues.length - lines.length
  const more = left > 0 ? [sanitizeForPrompt(`- and ${left} more, whom \`list_agents\` names`)] : []
  return joinPromptText([title, ...lines, ...more], '\n')
}

/** Describes how to manage the fleet, without a list of tools: the agent's prompt names those that it may use. */
function managing(record: PermissionRecord | null): PromptText[] {
  if (!operatorTools.some((tool) => record?.[operatorFlags[tool.needs]] === true)) return []
  return [
    sanitizeForPrompt(
      `## Looking after the fleet\n\nYou have tools to look at agents, tasks and costs, and, where your permissions allow it, to create, change, stop and archive agents. Edits count at once; tell the person what you changed and until when it can be undone. What waits for a person, they confirm at the terminal (\`flotilla pending\`) and never in this conversation. Rights that only a person may give are refused to you: say so, and do not try other words.`,
    ),
  ]
}

function permissionsInWords(record: PermissionRecord | null, kind: AgentRecord['kind']): PromptText {
  const title = sanitizeForPrompt('## What you may do\n')
  const lines = record
    ? [
        `Give work to: ${inWords(mayRoute(record) ? record.can_message : [], 'every agent', 'no agent')}.`,
        ...(record.can_message.length > 0
          ? [`Ask by \`message_agent\`: ${inWords(record.can_message, 'every agent', 'no agent')}.`]
          : []),
        `Read on the blackboard: ${inWords(record.blackboard_read, 'everything', 'nothing')}.`,
        `Write on the blackboard: ${inWords(record.blackboard_write, 'everything', 'nothing')}.`,
        `Use through the mesh: ${inWords(record.allowed_apis, 'every service', 'no service')}.`,
        `Credentials, as handles such as $CRED{name}: ${inWords(record.allowed_credentials, 'all that agents may use', 'none')}.`,
        ...flagsInWords(record, kind),
      ]
    : ['Nothing: the owner has given you no permission record.']
  return joinPromptText([title, ...lines.map((line) => oneLine(`- ${line}`, permissionLineMaxChars))], '\n')
}

/** Lists in words the granted permissions for which this kind of agent has a tool, and omits all others. */
function flagsInWords(record: PermissionRecord, kind: AgentRecord['kind']): string[] {
  const granted = [
    record.can_manage_cron ? 'plan recurring work (`set_cron`)' : null,
    record.can_spawn ? 'have an agent made for one task (`spawn_fleet_agent`)' : null,
    record.can_request_user_credentials ? 'ask the owner for a credential (`request_credential`)' : null,
    record.can_manage_projects
      ? kind === 'operator'
        ? 'make and lead projects (`manage_project`, `write_project`)'
        : 'lead your project (`manage_project`, `write_project`)'
      : null,
    kind === 'worker' && record.can_view_fleet_metrics
      ? 'see what other agents have saved (`list_artifacts`)'
      : null,
  ].filter((text) => text !== null)
  return granted.length === 0 ? [] : [`Also: ${granted.join(', ')}.`]
}

function inWords(names: readonly string[], all: string, none: string): string {
  if (names.includes('*')) return all
  return names.length === 0 ? none : names.join(', ')
}

/** Reduces text of other parties to one line, so that the text cannot imitate a section of SYSTEM.md. */
function oneLine(text: string, maxChars: number): PromptText {
  return truncatePromptText(
    sanitizeForPrompt(text.replaceAll(/[\s\u2028\u2029]+/gu, ' ').trim()),
    maxChars,
    '…',
  )
}
