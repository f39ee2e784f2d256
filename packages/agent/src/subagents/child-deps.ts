import { finderNames } from '@flotilla/protocol/findable-tools'
import { Problem } from '@flotilla/protocol/problem'
import { subagentTools } from '../builtin-tools/subagents.ts'
import type { LanguageModel } from '../llm/language-model.ts'
import type { LoopDeps, ParentLoop } from '../loop/loop-deps.ts'
import { answeredLater } from '../loop/loop-state.ts'
import type { LoopState } from '../loop/loop-state.ts'
import type { RunBeginning } from '../loop/run-provenance.ts'
import { createToolFinder } from '../tools/find-tools.ts'
import type { Tool } from '../tools/tool.ts'
import type { SubagentPool, SubagentPoolDeps } from './subagent-pool.ts'
import { subagentLimits } from './subagent-limits.ts'

const emptyRetriesMax = 1
/** The maximum length of one answer of a sub-agent: the mesh reserves its cost, and several must fit the budget. */
const answerTokensMax = 8192

/** What all sub-agents of one loop share. */
export interface SubagentSurroundings extends Omit<SubagentPoolDeps, 'depth'> {
  readonly parent: ParentLoop
  /** Makes the pool for sub-agents of a sub-agent; null at the depth limit. */
  readonly childPool: (() => SubagentPool) | null
}

/** The start parameters of one sub-agent. */
export interface SubagentStart {
  /** The sub-agent's name, unique within the run, because keys of its calls contain the name. */
  readonly name: string
  readonly id: string
  readonly loop: LoopState
  readonly beginning: RunBeginning
  readonly ttlSeconds: number
  /** Aborts when the parent ends or cancels the sub-agent. */
  readonly signal: AbortSignal
}

/** The dependencies of a sub-agent's loop: those of its parent, except what is its own. */
export async function childDepsOf(
  deps: SubagentSurroundings,
  { id, name, beginning }: SubagentStart,
): Promise<LoopDeps> {
  const { parent } = deps
  const { onFrame, onStep } = parent.deps.watch
  const subagents = deps.childPool?.()
  return {
    ...parent.deps,
    model: chargeParent(parent),
    tools: withFinder([
      ...childTools(parent.deps.tools, name),
      ...(subagents ? subagentTools(subagents) : []),
    ]),
    work: {
      systemPrompt: await deps.systemPrompt(),
      bounds: { kind: 'task', iterationsMax: subagentLimits.iterationsDefault },
      spending: null,
      taskId: null,
      beginning,
      remindsOfTask: false,
      emptyRetriesMax,
    },
    subagents,
    saveCheckpoint: async () => undefined,
    // Steers go to the agent itself.
    steers: () => [],
    watch: {
      onStep: () => onStep(parent.state.step),
      onFrame: (frame) => {
        if (frame.type !== 'tool_start' && frame.type !== 'tool_result') return
        onFrame({ ...frame, subagent: frame.subagent === undefined ? id : `${id}/${frame.subagent}` })
      },
    },
  }
}

/**
 * The parent's model for a child: each answer's usage is charged to the parent at once, and what the parent may
 * still spend bounds the next answer. If the parent's model is itself such a model, all ancestors are charged.
 */
function chargeParent({ deps: { model, work }, state }: ParentLoop): LanguageModel {
  return {
    answer: async (request, onText, signal) => {
      const { maxTokens, maxCostUsd } = work.spending ?? { maxTokens: null, maxCostUsd: null }
      const leftTokens = maxTokens === null ? Infinity : maxTokens - state.tokens
      if (leftTokens <= 0) throw spentAll(`${maxTokens} tokens`)
      if (maxCostUsd !== null && state.costUsd >= maxCostUsd) throw spentAll(`${maxCostUsd} USD`)
      const most = Math.min(request.answerTokensMax ?? answerTokensMax, answerTokensMax, leftTokens)
      const answer = await model.answer(
        { ...request, purpose: request.purpose ?? 'subagent', answerTokensMax: most },
        onText,
        signal,
      )
      state.tokens += answer.tokens
      state.costUsd += answer.costUsd
      return answer
    },
  }
}

function spentAll(what: string): Problem {
  return new Problem('budget-exhausted', {
    detail: `The run that this sub-agent belongs to has used its ${what}.`,
  })
}

/** The tools of `builtin-tools/subagents.ts`, of which each loop has its own. */
const subagentToolNames: readonly string[] = ['spawn_subagent', 'list_subagents', 'wait_for_subagent']

/** Tools of the parent that a sub-agent does not get, and why. */
const keptFromChildren: ReadonlyMap<string, string> = new Map([
  [
    'create_skill',
    'a sub-agent lives for minutes and does not extend the agent (limits:subagents:no-skills)',
  ],
  ['reload_skills', 'a sub-agent may not change the tools of its parent'],
  ['update_workspace', 'only the agent itself changes its workspace files'],
  ['complete_task', 'the task belongs to the parent, and closing it would end the run of the parent'],
  [
    'read_signals',
    'signals count as read when the run succeeds, so the parent of the sub-agent would never see them',
  ],
  ['steer_agent', 'this tool sends messages to tasks that the parent handed off'],
  ...answeredLater.map(
    (name) => [name, 'the answer would arrive after the conversation of the sub-agent has ended'] as const,
  ),
  ...finderNames.map((name) => [name, 'a sub-agent finds its own tools'] as const),
  ...subagentToolNames.map((name) => [name, 'this tool belongs to the sub-agents of the parent'] as const),
])

/** Adds `find_tools` and `call_tool` if one of these tools is deferred. */
function withFinder(tools: readonly Tool[]): readonly Tool[] {
  if (!tools.some(({ deferred }) => deferred === true)) return tools
  const finder = createToolFinder()
  const all = [...tools, ...finder.tools]
  finder.search(all)
  return all
}

/** The parent's tools for its child. Each call names its sub-agent; the innermost name counts. Pure. */
function childTools(tools: readonly Tool[], subagent: string): Tool[] {
  return tools
    .filter(({ definition }) => !keptFromChildren.has(definition.name))
    .map((tool) => ({
      ...tool,
      run: (input, context) => tool.run(input, { ...context, subagent: context.subagent ?? subagent }),
    }))
}
