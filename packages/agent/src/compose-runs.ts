import type { Duplex } from 'node:stream'
import type { Clock } from '@flotilla/protocol/clock'
import { composeContext } from './compose-context.ts'
import { composeTools } from './compose-tools.ts'
import { memoryFolder } from './workspace/daily-log.ts'
import type { AgentEnvironment } from './environment.ts'
import type { DataFiles } from './files/data-files.ts'
import { createFileWatch } from './files/file-watch.ts'
import { keepReserve, tryState } from './files/state-file.ts'
import { createImageStore } from './images/image-store.ts'
import { createMeshModel } from './llm/mesh-model.ts'
import type { McpToolset } from './mcp-servers/mcp-toolset.ts'
import type { Log } from '@flotilla/protocol/json-log'
import { createLearnings, readLearnings } from './learnings/learnings.ts'
import { createReadFeedback } from './learnings/read-feedback.ts'
import type { Checkpoints } from './loop/run-files.ts'
import { createHarnessPart } from './harness/harness-part.ts'
import { createExecuteRun } from './loop/execute-run.ts'
import { runLoop } from './loop/run-loop.ts'
import type { ExecuteRun } from './loop/run-slot.ts'
import type { Sessions } from './loop/sessions.ts'
import { keepFacts } from './memory/keep-facts.ts'
import { createMemory } from './memory/memory.ts'
import type { Memory } from './memory/memory.ts'
import { createMeshHttp } from './mesh/mesh-http.ts'
import { joinBootstrap, readBootstrapFiles } from './prompt/bootstrap-files.ts'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import { playbookNotices } from './prompt/playbook-notices.ts'
import { readObservations } from './workspace/observations.ts'
import { buildSystemPrompt } from './prompt/build-system-prompt.ts'
import type { PromptMode } from './prompt/build-system-prompt.ts'
import { createSubagentPool } from './subagents/create-subagent-pool.ts'
import type { Tool } from './tools/tool.ts'
import type { Workspace } from './workspace/workspace.ts'

const noText = sanitizeForPrompt('')
/** Limit in characters for the learnings within a system prompt. */
const learningsMaxChars = 3000

export interface RunParts {
  readonly execute: ExecuteRun
  /** The agent's own tools and the skills it has written so far. */
  readonly tools: () => readonly Pick<Tool, 'definition' | 'source'>[]
  readonly mcp: Pick<McpToolset, 'tools' | 'statuses'>
  readonly memory: Pick<Memory, 'list' | 'forget'>
  close(): Promise<void>
}

/** The part of the composition that the first run loads: schemas, child processes, the client of the mesh. */
export function composeRuns(deps: {
  environment: AgentEnvironment
  doorToken: string
  dial?: (() => Duplex) | undefined
  files: DataFiles
  workspace: Workspace
  sessions: Sessions
  checkpoints: Checkpoints
  clock: Clock
  log: Log
}): RunParts {
  const { environment, files, workspace, sessions, checkpoints, clock, log } = deps
  const meshHttp = createMeshHttp({
    ...environment.mesh,
    dial: deps.dial,
    doorToken: deps.doorToken,
    clock,
    log,
  })
  const { dataDirectory, embeddingModel, agentId, role, kind } = environment
  const readFeedback = createReadFeedback(environment.briefingDirectory)
  const learnings = createLearnings({ files, clock, log, readFeedback })
  const memory = createMemory({ dataDirectory, embeddingModel, clock, log })
  const tools = composeTools({ environment, files, workspace, memory, clock, log })
  const images = createImageStore(dataDirectory)
  const currentLearnings = async () => {
    await learnings.takeFeedback()
    return readLearnings(files, learningsMaxChars)
  }
  const systemPrompt = async (mode: PromptMode, chosen?: PromptText) => {
    const bootstrap = joinBootstrap(await readBootstrapFiles(workspace))
    return buildSystemPrompt({
      agentId,
      role: sanitizeForPrompt(role),
      kind,
      mode,
      bootstrap,
      observations: kind === 'operator' && mode === 'heartbeat' ? await readObservations(files) : noText,
      learnings: chosen ?? (await currentLearnings()),
    })
  }
  const newSubagentPool = () =>
    createSubagentPool({
      depth: 0,
      runLoop,
      systemPrompt: () => systemPrompt('subagent'),
      exclusive: tools.exclusive,
      log,
    })
  const { context, recordRun, recordHeartbeat } = composeContext({
    environment,
    files,
    factKeeper: keepFacts({ memory, embeddingModel }),
    clock,
    log,
  })
  const harnessLoop = createHarnessPart({ environment, log })
  const execute = createExecuteRun({
    shared: {
      context,
      recordRun,
      recordHeartbeat,
      bounds: environment,
      sessions,
      checkpoints,
      clock,
      learnings,
      images,
      systemPrompt,
      currentLearnings,
      ...(kind === 'operator' ? { reminders: playbookNotices } : {}),
    },
    meshHttp,
    keepReserve: () => keepReserve(environment.dataDirectory),
    tryState: () => tryState(environment.dataDirectory),
    equip: async (mesh, { hooks: { onFrame }, conversation }, signal) => {
      const withheld = await tools.withheldFor(mesh, signal)
      const subagents = newSubagentPool()
      const model = createMeshModel({
        mesh,
        model: environment.model,
        clock,
        images,
        seesImages: withheld.seesImages,
        onWait: (wait) => onFrame({ type: 'model_wait', ...wait }),
      })
      return {
        model,
        subagents,
        tools: await tools.offeredTo({ mesh, withheld, subagents, signal }),
        runLoop: (await harnessLoop())?.(conversation ?? '') ?? runLoop,
      }
    },
    watchFiles: async (kind, onFrame) => {
      const begins = kind === 'tool' || environment.harness !== null
      // Files that the agent itself lays before its first run are no change of the run, which meets their failure itself.
      if (begins) await workspace.lay().catch(() => undefined)
      return createFileWatch({ dataDirectory, ownFolder: memoryFolder }, { onFrame, begins })
    },
    log,
  })
  const close = async () => {
    await Promise.all([memory.close(), tools.mcp.close()])
    meshHttp.close()
  }
  const listed = newSubagentPool()
  return { execute, tools: () => tools.listed(listed), mcp: tools.mcp, memory, close }
}
