import { Problem } from '@flotilla/protocol/problem'
import type { WatcherChangeAsked, WatcherFields } from '@flotilla/protocol/watch-api'
import type { Caller } from '../../access/index.ts'
import { actorOf, requireAtTerminal, requireProof } from '../../access/index.ts'
import type { Kernel } from '../../kernel/index.ts'
import type { FileWatches } from './carry-watchers.ts'
import { watcherEntrySchema, watchName } from './watch-rule.ts'
import type { WatcherEntry } from './watch-rule.ts'

/**
 * Makes, changes or takes away one entry of `config/watchers.yaml`. A watcher reads a folder of the host and wakes an agent,
 * so an owner at the terminal or the dashboard does it, and a page brings the owner's proof before a folder is watched.
 * Problems `denied`, `human-only`, `proof-wanted`, `bad-request` with the field, what the agent refuses, `conflict` where the
 * entry is not any more as it was seen, and `unprocessable` where the file is broken.
 */
export type ChangeWatcher = (caller: Caller, change: WatcherChangeAsked) => Promise<void>

export function createChangeWatcher(deps: {
  readonly kernel: Pick<Kernel, 'guard' | 'journal'>
  readonly files: Pick<FileWatches, 'prepare' | 'write'>
  readonly requireWorking: (agentId: string) => void
  /** The watches at work take the file as it is now. */
  readonly refresh: () => Promise<void>
}): ChangeWatcher {
  const { kernel, files } = deps
  return async (caller, asked) => {
    kernel.guard(caller, { do: 'manage-fleet' })
    requireAtTerminal(caller, 'change which folders of this machine are watched')
    const before = readEntry(asked.before)
    const after = readEntry(asked.after)
    const named = after ?? before
    if (named === null) {
      throw new Problem('bad-request', { detail: 'a change of nothing to nothing changes nothing' })
    }
    if (after !== null) {
      requireProof(caller, 'have a folder of this machine watched')
      deps.requireWorking(after.agent)
    }
    const staysThere =
      before !== null &&
      after !== null &&
      (['path', 'pattern', 'agent'] as const).every((field) => before[field] === after[field])
    // Another folder, pattern or agent is another watcher.
    const changes =
      before === null || after === null || staysThere
        ? [{ before, after }]
        : [
            { before, after: null },
            { before: null, after },
          ]
    const edit = await files.prepare(changes)
    if (edit === null) return
    await files.write(edit)
    kernel.journal.append({
      actor: actorOf(caller),
      action: `watcher.${before === null ? 'created' : after === null ? 'removed' : 'updated'}`,
      subject: watchName(named),
      detail: { before: asked.before, after: asked.after },
    })
    await deps.refresh()
  }
}

function readEntry(fields: WatcherFields | null): WatcherEntry | null {
  if (fields === null) return null
  const { when, ...rest } = fields
  const read = watcherEntrySchema.safeParse(when === null ? rest : fields)
  if (read.success) return read.data
  const issue = read.error.issues[0]
  const field = issue?.path.join('.') ?? ''
  throw new Problem('bad-request', {
    detail: `${field}: ${issue?.message ?? 'it is not of the agreed form'}`,
    extra: { field },
  })
}
