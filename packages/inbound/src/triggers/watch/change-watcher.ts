import { Problem } from '@flotilla/protocol/problem'
import type { WatcherChangeRequest, WatcherFields } from '@flotilla/protocol/watch-api'
import type { Caller } from '@flotilla/identity/access'
import { actorOf, requireAtTerminal, requireProof } from '@flotilla/identity/access'
import type { Kernel } from '@flotilla/identity/kernel'
import type { FileWatches } from './carry-watchers.ts'
import { watcherEntrySchema, watchName } from './watch-rule.ts'
import type { WatcherEntry } from './watch-rule.ts'

/**
 * Creates, changes or removes one entry of `config/watchers.yaml`. A watcher reads a folder of the host
 * and starts an agent, so only an owner at the terminal or dashboard may change it, and the dashboard must
 * provide the owner's proof. Throws the Problems `denied`, `human-only`, `proof-wanted`, `bad-request`
 * with the field, those of the agent, `conflict` if the entry has changed, and `unprocessable` if the file
 * is broken. Returns why the folder cannot be watched now; the folder may appear later.
 */
export type ChangeWatcher = (caller: Caller, change: WatcherChangeRequest) => Promise<readonly string[]>

export function createChangeWatcher(deps: {
  readonly kernel: Pick<Kernel, 'guard' | 'journal'>
  readonly files: Pick<FileWatches, 'prepare' | 'write' | 'troubles'>
  readonly requireWorking: (agentId: string) => void
  /** Makes the active watches read the file. */
  readonly refresh: () => Promise<void>
}): ChangeWatcher {
  const { kernel, files } = deps
  return async (caller, change) => {
    kernel.guard(caller, { do: 'manage-fleet' })
    requireAtTerminal(caller, 'change which folders of this machine are watched')
    const before = readEntry(change.before)
    const after = readEntry(change.after)
    const named = after ?? before
    if (named === null) {
      throw new Problem('bad-request', {
        detail: 'the request has neither the field before nor the field after; send at least one',
      })
    }
    if (after !== null) {
      requireProof(caller, 'watch a folder of this machine')
      deps.requireWorking(after.agent)
    }
    const staysThere =
      before !== null &&
      after !== null &&
      (['path', 'pattern', 'agent'] as const).every((field) => before[field] === after[field])
    // A change of folder, pattern or agent removes the watcher and creates a new one.
    const changes =
      before === null || after === null || staysThere
        ? [{ before, after }]
        : [
            { before, after: null },
            { before: null, after },
          ]
    const edit = await files.prepare(changes)
    if (edit === null) return noticesOf(files, after)
    await files.write(edit)
    kernel.journal.append({
      actor: actorOf(caller),
      action: `watcher.${before === null ? 'created' : after === null ? 'removed' : 'updated'}`,
      subject: watchName(named),
      detail: { before: change.before, after: change.after },
    })
    await deps.refresh()
    return noticesOf(files, after)
  }
}

async function noticesOf(
  files: Pick<FileWatches, 'troubles'>,
  after: WatcherEntry | null,
): Promise<readonly string[]> {
  if (after === null) return []
  const troubles = await files.troubles([after.path])
  return [...troubles.values()]
}

function readEntry(fields: WatcherFields | null): WatcherEntry | null {
  if (fields === null) return null
  const { when, ...rest } = fields
  const read = watcherEntrySchema.safeParse(when === null ? rest : fields)
  if (read.success) return read.data
  const issue = read.error.issues[0]
  const field = issue?.path.join('.') ?? ''
  throw new Problem('bad-request', {
    detail: `${field}: ${issue?.message ?? 'it does not have the expected form'}`,
    extra: { field },
  })
}
