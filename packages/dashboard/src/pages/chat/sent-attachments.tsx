import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { attachmentName } from '@flotilla/protocol/chat-attachments'
import { saveFile } from '../../data/save-file.ts'
import { useServices } from '../../data/use-mesh.ts'
import { Icon } from '../../design/icons.tsx'
import { Failed, Loading } from '../../design/parts.tsx'
import { Drawn } from '../seen-pictures.tsx'

/**
 * The files that a person attached to a message. A file is read when the person asks for it, because reading starts an
 * agent that hibernates.
 */
export function SentAttachments({
  agent,
  attachments,
}: {
  readonly agent: string
  readonly attachments: readonly { readonly path: string; readonly isPicture: boolean }[]
}) {
  const [shown, setShown] = useState<readonly string[]>([])
  if (attachments.length === 0) return null
  return (
    <div className="sent-files">
      <ul className="row" aria-label="Files of this message">
        {attachments.map(({ path, isPicture }) => (
          <li key={path} className="badge attached">
            <Icon name="file" />
            <span className="clip">{attachmentName(path)}</span>
            {isPicture ? (
              <button
                type="button"
                className="button quiet small"
                aria-pressed={shown.includes(path)}
                onClick={() =>
                  setShown(shown.includes(path) ? shown.filter((one) => one !== path) : [...shown, path])
                }
              >
                {shown.includes(path) ? 'Hide' : 'Show'}
                <span className="hidden-words"> {attachmentName(path)}</span>
              </button>
            ) : (
              <SaveButton agent={agent} path={path} />
            )}
          </li>
        ))}
      </ul>
      {shown.map((path) => (
        <Picture key={path} agent={agent} path={path} />
      ))}
    </div>
  )
}

function SaveButton({ agent, path }: { readonly agent: string; readonly path: string }) {
  const { client, toasts } = useServices()
  const [busy, setBusy] = useState(false)
  async function save(): Promise<void> {
    setBusy(true)
    try {
      saveFile(attachmentName(path), await client.bytes('fileRead', { params: { id: agent, path } }))
    } catch (error) {
      toasts.fail(error)
    } finally {
      setBusy(false)
    }
  }
  return (
    <button type="button" className="button quiet small" disabled={busy} onClick={() => void save()}>
      Save<span className="hidden-words"> {attachmentName(path)}</span>
    </button>
  )
}

function Picture({ agent, path }: { readonly agent: string; readonly path: string }) {
  const { client } = useServices()
  const read = useQuery({
    queryKey: ['fileRead', agent, path],
    queryFn: ({ signal }) => client.bytes('fileRead', { params: { id: agent, path }, signal }),
    retry: false,
  })
  return (
    <>
      {read.isPending && <Loading rows={2} />}
      {read.error && <Failed error={read.error} retry={read.refetch} />}
      {read.data && <Drawn bytes={read.data} words={attachmentName(path)} />}
    </>
  )
}
