import { operatorTools } from './operator-tools.ts'
import type { Playbook } from './operator-tools.ts'
import { groupOf } from './tool-groups.ts'

/** How a kind of work is done well. Said to the operator while it is at it, and not before. */
export const operatorPlaybooks = {
  team_build: `Playbook, building a team: 1. Ask the person what a good result looks like, and what it may cost, before you create anything. 2. inspect_fleet first: an agent that fits is better than a new one. 3. One role for each agent, in one or two sentences; instructions that name its input, its output and when it stops. 4. Permissions below a worker's defaults where it needs less; what only a person may give you name to the person. 5. Try each with one small hand_off, and look at the result, before you say that the team is ready.`,
  edit: `Playbook, changing an agent: 1. inspect_agent first, with the file that you mean to change. 2. Change one thing, the smallest that helps, and say why in reason. 3. Texts are replaced whole: keep what still holds. 4. Try it with one small hand_off. 5. Tell the person what you changed and until when undo_change takes it back; take it back yourself where the try went worse.`,
  monitor: `Playbook, watching the fleet: 1. inspect_fleet, then look closer at three agents at most. 2. A figure means something beside the one before: your observations hold it. 3. Look at list_stale_tasks and list_queue before you call an agent slow, at read_audit before you say who did what. 4. Report a thing once, with its cause and what you did; keep the rest with save_observations.`,
  feedback: `Playbook, judging work: 1. read_task first: what was asked, what was handed in, its artifacts; list_tasks finds those that ended and have no outcome. 2. accepted: it is what was asked; say in a sentence what was good, where that helps the next time. 3. rework: the same agent can mend it; the comment says what is wrong and how a right result looks. It gets a new task, and you are called with its end. 4. rejected: it is of no use; say why. 5. A verdict stands for good, and its agent reads it before its next work: about the work, never about the agent, and never in the name of a person who has not said it. 6. The same fault twice belongs into the agent's instructions: edit_agent.`,
  credentials: `Playbook, credentials: 1. vault_list first: it may be there. 2. request_credential with what it is for and the fewest rights that do; never ask a person to write a secret into the conversation, and never repeat one. 3. End your turn: you are called again when it is set or denied. 4. Which agent may use it, and which host it goes to, the person decides at the terminal.`,
} as const satisfies Readonly<Record<Playbook, string>>

/** At once in one prompt. */
export const playbooksMax = 2
/** Turns of the conversation for which one stays after its last tool, that one included. */
export const playbookTurns = 5

/** The playbook of a tool, by the table of the operator's tools; null where it has none. Pure. */
export function playbookOf(tool: string): Playbook | null {
  const row = operatorTools.find(({ name }) => name === tool)
  if (row) return row.playbook
  return groupOf(tool) === 'vault_tool' ? 'credentials' : null
}
