import { answeredLater } from '../loop/loop-state.ts'
import type { Tool } from '../tools/tool.ts'

/** The tools of `builtin-tools/subagents.ts`, which each loop has of its own. */
export const subagentToolNames: readonly string[] = ['spawn_subagent', 'list_subagents', 'wait_for_subagent']

/** What a sub-agent does not have of its parent's tools, and why. */
const keptFromChildren: ReadonlyMap<string, string> = new Map([
  [
    'create_skill',
    'a sub-agent lives for minutes and does not extend the agent (limits:subagents:no-skills)',
  ],
  ['reload_skills', 'it would change what its parent can do'],
  ['update_workspace', 'what the agent is, the agent itself changes'],
  ['complete_task', 'the task is the parent’s, and its end would end the parent’s work'],
  ['read_signals', 'they count as read when the run ends well, and its parent would never have seen them'],
  ['steer_agent', 'it speaks to work that the parent gave away'],
  ...answeredLater.map((name) => [name, 'the answer comes to a conversation that is over by then'] as const),
  ...subagentToolNames.map((name) => [name, 'these begin children of the parent'] as const),
])

/** The parent's tools as its child has them. Each call says whose it is; the youngest who says so counts. Pure. */
export function childTools(tools: readonly Tool[], subagent: string): Tool[] {
  return tools
    .filter(({ definition }) => !keptFromChildren.has(definition.name))
    .map((tool) => ({
      ...tool,
      run: (input, context) => tool.run(input, { ...context, subagent: context.subagent ?? subagent }),
    }))
}
