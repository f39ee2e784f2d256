import type { Clock } from '@flotilla/protocol/clock'
import type { DataFiles } from '../files/data-files.ts'
import type { Memory } from '../memory/memory.ts'
import type { Tool } from '../tools/tool.ts'
import type { Workspace } from '../workspace/workspace.ts'
import { artifactTools } from './artifacts.ts'
import { askAgentTools } from './ask-agents.ts'
import { browserTools } from './browser.ts'
import { blackboardTools } from './blackboard.ts'
import { cronTools } from './cron.ts'
import { fileTools } from './files.ts'
import { handOffTools } from './hand-off.ts'
import { httpTools } from './http.ts'
import { memoryTools } from './memory.ts'
import { messageTools } from './messages.ts'
import { projectTools } from './projects.ts'
import { resourceTools } from './resources.ts'
import { shellTools } from './shell.ts'
import { signalTools } from './signals.ts'
import { spawnTools } from './spawn.ts'
import { taskTools } from './tasks.ts'
import { statusTools } from './status.ts'
import { vaultTools } from './vault.ts'
import { imageTools } from './view-image.ts'
import { walletTools } from './wallet.ts'
import { webSearchTools } from './web-search.ts'
import { workspaceTools } from './workspace.ts'

/** The tools that every agent has. Tools that the mesh would deny are left out before a model sees them. */
export function builtinTools(deps: {
  readonly files: DataFiles
  readonly workspace: Workspace
  readonly memory: Memory
  readonly embeddingModel: string | null
  readonly dataDirectory: string
  /** Environment variables that programs of the shell get. */
  readonly programEnvironment: Readonly<Record<string, string>>
  readonly clock: Clock
}): readonly Tool[] {
  const { files, clock } = deps
  return [
    ...shellTools({ files, environment: deps.programEnvironment, clock }),
    ...fileTools({ files }),
    ...imageTools({ files }),
    ...spawnTools(),
    ...httpTools(),
    ...webSearchTools(),
    ...browserTools(),
    ...blackboardTools(),
    ...handOffTools(),
    ...askAgentTools(),
    ...taskTools(),
    ...projectTools(),
    ...messageTools({ files }),
    ...artifactTools({ files }),
    ...statusTools(deps),
    ...workspaceTools(deps),
    ...vaultTools(),
    ...resourceTools(),
    ...walletTools(),
    ...signalTools(),
    ...cronTools(),
    ...memoryTools(deps),
  ]
}
