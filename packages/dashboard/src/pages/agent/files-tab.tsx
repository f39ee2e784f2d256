import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { keptLimits } from '@flotilla/protocol/kept-api'
import type { ShownEntry } from '@flotilla/protocol/kept-api'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { formatBytes } from '../../data/format.ts'
import { saveFile } from '../../data/save-file.ts'
import { useMesh, useServices } from '../../data/use-mesh.ts'
import { Badge, Card, Code, Empty, Failed, Loading } from '../../design/parts.tsx'
import { LastChanges } from './last-changes.tsx'
import { readText } from './read-text.ts'

/** Lists the files below /data of an agent. A file is shown as text, or not at all. */
export function FilesTab({ agentId }: { readonly agentId: string }) {
  const [path, setPath] = useState('')
  const [file, setFile] = useState<string | null>(null)
  const folder = useMesh('folder', { params: { id: agentId }, query: { path } })
  const open = (entry: ShownEntry): void => {
    const below = path === '' ? entry.name : `${path}/${entry.name}`
    if (entry.kind === 'directory') {
      setPath(below)
      setFile(null)
    } else setFile(below)
  }
  return (
    <>
      <div className="pick-beside">
        <Card title="Files">
          <Crumbs path={path} onChoose={setPath} />
          {folder.isPending && <Loading />}
          {folder.error && <Failed error={folder.error} retry={folder.refetch} />}
          {folder.data?.entries.length === 0 && (
            <Empty title="The folder is empty">
              Files that the agent writes below its /data appear here.
            </Empty>
          )}
          <div className="pick">
            {folder.data?.entries.map((entry) => (
              <button
                key={entry.name}
                type="button"
                aria-pressed={file === (path === '' ? entry.name : `${path}/${entry.name}`)}
                disabled={entry.kind === 'other' || entry.kind === 'link'}
                onClick={() => open(entry)}
              >
                <span className="mono">
                  {entry.shown}
                  {entry.kind === 'directory' && '/'}
                  {entry.shown !== entry.name && (
                    <>
                      {' '}
                      <Badge tone="warn">hidden characters</Badge>
                    </>
                  )}
                </span>
                <span className="small muted number">
                  {entry.kind === 'file'
                    ? formatBytes(entry.size_bytes)
                    : entry.kind === 'directory'
                      ? ''
                      : entry.kind}
                </span>
              </button>
            ))}
          </div>
          {folder.data?.more && (
            <p className="body small muted">The first {keptLimits.folderEntriesMax} are listed.</p>
          )}
        </Card>
        {file === null ? (
          <Card title="No file is open">
            <Empty title="Choose a file">Every file is shown as text, and can be downloaded unchanged.</Empty>
          </Card>
        ) : (
          <OpenFile key={file} agentId={agentId} path={file} />
        )}
      </div>
      <LastChanges agentId={agentId} />
    </>
  )
}

function Crumbs({ path, onChoose }: { readonly path: string; readonly onChoose: (path: string) => void }) {
  const parts = path === '' ? [] : path.split('/')
  return (
    <nav className="crumbs small" aria-label="Folder">
      <button type="button" className="button small quiet" onClick={() => onChoose('')}>
        /data
      </button>
      {parts.map((part, index) => (
        <button
          key={index}
          type="button"
          className="button small quiet"
          onClick={() => onChoose(parts.slice(0, index + 1).join('/'))}
        >
          / {sanitizeForPrompt(part)}
        </button>
      ))}
    </nav>
  )
}

function OpenFile({ agentId, path }: { readonly agentId: string; readonly path: string }) {
  const { client } = useServices()
  const file = useQuery({
    queryKey: ['fileRead', agentId, path],
    queryFn: ({ signal }) => client.bytes('fileRead', { params: { id: agentId, path }, signal }),
    retry: false,
  })
  const shown = file.data && readText(file.data)
  const name = sanitizeForPrompt(path)
  return (
    <Card
      title={name}
      more={
        file.data && (
          <button
            type="button"
            className="button small"
            onClick={() => saveFile(path.split('/').at(-1) ?? 'file', file.data)}
          >
            Download
          </button>
        )
      }
    >
      <div className="body stack">
        {file.isPending && <Loading />}
        {file.error && <Failed error={file.error} retry={file.refetch} />}
        {shown?.kind === 'binary' && (
          <Empty title="This is not text">The file can be downloaded, but is not shown here.</Empty>
        )}
        {shown?.kind === 'text' && shown.text === '' && <Empty title="The file is empty" />}
        {shown?.kind === 'text' && shown.text !== '' && (
          <>
            <Code value={shown.text} label={`Text of ${name}`} />
            {shown.cut && (
              <p className="row small muted">
                <Badge tone="warn">cut</Badge> Only the beginning is shown; download the file for the rest.
              </p>
            )}
          </>
        )}
      </div>
    </Card>
  )
}
