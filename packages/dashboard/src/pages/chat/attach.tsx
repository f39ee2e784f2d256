import { useRef, useState } from 'react'
import { imageTypeOf } from '@flotilla/protocol/image-type'
import { formatBytes } from '../../data/format.ts'
import { useServices } from '../../data/use-mesh.ts'
import { Act } from '../../design/act.tsx'
import { Icon } from '../../design/icons.tsx'
import { attachmentFault, attachmentName, uploadPath } from '@flotilla/protocol/chat-attachments'
import type { Attachment } from '@flotilla/protocol/chat-attachments'

/** Uploads the person's files to the agent's data directory, before the message that names them. */
export function useAttachments(agent: string) {
  const { client, toasts } = useServices()
  const [attachments, setAttachments] = useState<readonly Attachment[]>([])
  const [busy, setBusy] = useState(0)

  async function add(files: readonly File[]): Promise<void> {
    for (const [index, file] of files.entries()) {
      const fault = attachmentFault(file, attachments.length + index)
      if (fault !== null) {
        toasts.fail(new Error(fault))
        return
      }
      setBusy((count) => count + 1)
      try {
        const bytes = new Uint8Array(await file.arrayBuffer())
        const mark = Array.from(crypto.getRandomValues(new Uint8Array(4)), (byte) =>
          byte.toString(16).padStart(2, '0'),
        ).join('')
        const path = uploadPath(file.name, mark)
        const { size } = await client.call('fileWrite', { params: { id: agent, path }, bytes })
        const attachment = { path, size, isPicture: imageTypeOf(bytes) !== null }
        setAttachments((before) => [...before, attachment])
      } catch (error) {
        toasts.fail(error)
      } finally {
        setBusy((count) => count - 1)
      }
    }
  }

  return {
    attachments,
    busy: busy > 0,
    add: (files: readonly File[]) => void add(files),
    leaveOut: (path: string) => setAttachments((before) => before.filter((one) => one.path !== path)),
    clear: () => setAttachments([]),
    /** Puts back the files of a message that was not sent. */
    restore: (unsent: readonly Attachment[]) => setAttachments((now) => [...unsent, ...now]),
  }
}

export function AttachButton({
  agent,
  disabled,
  onFiles,
}: {
  readonly agent: string
  readonly disabled: boolean
  readonly onFiles: (files: readonly File[]) => void
}) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <Act
        call="fileWrite"
        agent={agent}
        className="button quiet"
        disabled={disabled}
        aria-label={`Attach files for ${agent}`}
        title="Attach files"
        onClick={() => input.current?.click()}
      >
        <Icon name="attach" />
      </Act>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label={`Files for ${agent}`}
        onChange={(event) => {
          onFiles([...(event.target.files ?? [])])
          event.target.value = ''
        }}
      />
    </>
  )
}

export function AttachedList({
  attachments,
  onLeaveOut,
}: {
  readonly attachments: readonly Attachment[]
  readonly onLeaveOut: (path: string) => void
}) {
  if (attachments.length === 0) return null
  return (
    <ul className="row" aria-label="Attached files">
      {attachments.map(({ path, size }) => (
        <li key={path} className="badge attached">
          <span className="clip">{attachmentName(path)}</span>
          <span className="muted">{formatBytes(size)}</span>
          <button
            type="button"
            className="button quiet small"
            aria-label={`Leave out ${path}`}
            onClick={() => onLeaveOut(path)}
          >
            <Icon name="close" />
          </button>
        </li>
      ))}
    </ul>
  )
}
