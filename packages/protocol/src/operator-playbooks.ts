import { operatorTools } from './operator-tools.ts'
import type { Playbook } from './operator-tools.ts'
import { groupOf } from './tool-groups.ts'

/** Instructions for kinds of work. The operator's prompt contains one only while the operator does that work. */
export const operatorPlaybooks = {
  team_build: `Playbook, building a team: 1. Ask the person what a good result looks like, and what it may cost, before you create anything. 2. inspect_fleet first: an agent that fits is better than a new one. 3. One role for each agent, in one or two sentences; instructions that name its input, its output and when it stops. 4. Permissions below a worker's defaults where it needs less; name to the person what only a person may grant. 5. Test each with one small hand_off, and check the result, before you say that the team is ready. Tools: find_tools team, fleet.`,
  edit: `Playbook, changing an agent: 1. inspect_agent first, with the file that you mean to change. 2. Change one thing, the smallest that helps, and say why in reason. 3. A text is replaced as a whole: keep the parts that are still valid. 4. Test it with one small hand_off. 5. Tell the person what you changed and until when undo_change can undo it; undo it yourself if the result got worse. Tools: find_tools changes, fleet.`,
  monitor: `Playbook, watching the fleet: 1. inspect_fleet, then look closer at three agents at most. 2. Compare a figure with the one before, which is in your observations. 3. Look at list_stale_tasks and list_queue before you call an agent slow, at read_audit before you say who did what. 4. Report a thing once, with its cause and what you did; keep the rest with save_observations. Tools: find_tools fleet.`,
  feedback: `Playbook, judging work: 1. read_task first: what was asked, what was handed in, its artifacts; list_tasks finds those that ended and have no outcome. 2. accepted: it is what was asked; say in a sentence what was good, where that helps the next time. 3. rework: the same agent can fix it; the comment says what is wrong and what a correct result is. It gets a new task, and you are called with its end. 4. rejected: it is of no use; say why. 5. A verdict is final, and the agent reads it before its next task: judge the work, never the agent, and never speak for a person who has not said it. 6. When a fault occurs twice, add it to the agent's instructions: edit_agent. Tools: find_tools tasks.`,
  credentials: `Playbook, credentials: 1. vault_list first: it may exist. 2. request_credential with its purpose and the least rights that suffice; never ask a person to write a secret into the conversation, and never repeat one. 3. End your turn: you are called again when it is set or denied. 4. The person decides at the terminal which agent may use it and which host receives it. Tools: find_tools credentials.`,
} as const satisfies Readonly<Record<Playbook, string>>

/** The maximum number of playbooks in one prompt. */
export const playbooksMax = 2
/** A playbook stays in the prompt for this many turns after its last tool call, including the turn of that call. */
export const playbookTurns = 5

/** The playbook of a tool, by the table of the operator's tools; null for a tool without one. Pure. */
export function playbookOf(tool: string): Playbook | null {
  const row = operatorTools.find(({ name }) => name === tool)
  if (row) return row.playbook
  return groupOf(tool) === 'vault_tool' ? 'credentials' : null
}
