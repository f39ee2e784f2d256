import type { ChangedFile } from '@flotilla/protocol/changed-files'
import { isTerminal } from '@flotilla/protocol/run'
import type { RunView } from '@flotilla/protocol/run'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { Link } from 'wouter'
import { describeChangedFiles } from '../../data/describe-changed-files.ts'
import { formatBytes } from '../../data/format.ts'
import { useMesh } from '../../data/use-mesh.ts'
import { Badge, Card, Empty, Failed, Loading } from '../../design/parts.tsx'
import '../../design/trace.css'
import { joinChangedFiles } from './changed-files.ts'

const tones = { made: 'ok', changed: 'busy', removed: 'warn' } as const

/** Lists the files below /data that a run made, changed or removed, or says why this is not known. */
export function ChangedFilesCard({ run }: { readonly run: RunView }) {
  return (
    <Card
      title="Changed in /data"
      more={
        <Link href={`/agents/${encodeURIComponent(run.agent_id)}?tab=files`} className="small">
          Files of {run.agent_id}
        </Link>
      }
    >
      <ChangedFilesOf run={run} />
    </Card>
  )
}

/** The request for what a run changed. */
export function changedFilesOf(id: string) {
  return { params: { id }, query: { only: 'files.changed' } } as const
}

export function ChangedFilesOf({ run }: { readonly run: Pick<RunView, 'id' | 'state'> }) {
  const events = useMesh('runEvents', changedFilesOf(run.id))
  if (events.isPending) return <Loading rows={2} />
  if (events.error) return <Failed error={events.error} retry={events.refetch} />
  const changes = joinChangedFiles(events.data.events)
  if (changes === null) {
    if (!isTerminal(run.state))
      return <Empty title="Not known yet">The agent reports its changes at the end of each turn.</Empty>
    return events.data.forgotten ? (
      <Empty title="No longer kept">Events of runs are stored for a limited time.</Empty>
    ) : (
      <Empty title="No change was reported">
        The run called no tool, or its agent ended before it could report.
      </Empty>
    )
  }
  return (
    <>
      {changes.files.length > 0 && (
        <ul className="changed-files" aria-label="Changed files">
          {changes.files.map((file) => (
            <ChangedFileRow key={file.path} file={file} />
          ))}
        </ul>
      )}
      <p className="body small muted">
        {changes.unlisted > 0 && `${changes.unlisted} more files changed. `}
        {changes.files.length === 0 && changes.unlisted === 0
          ? 'The run changed no files. '
          : `The run ${describeChangedFiles(changes)}. `}
        {changes.is_partial && 'The agent has more files than are compared, so changes may be missing. '}
        Hidden folders, packages, caches and .git are not compared.
      </p>
    </>
  )
}

function ChangedFileRow({ file: { path, change, size_bytes: size } }: { readonly file: ChangedFile }) {
  return (
    <li>
      <Badge tone={tones[change]}>{change}</Badge>
      <span className={`mono plain-text${change === 'removed' ? ' muted' : ''}`}>
        {sanitizeForPrompt(path)}
      </span>
      <span className="small muted number">
        {change === 'removed' && 'was '}
        {formatBytes(size)}
      </span>
    </li>
  )
}
