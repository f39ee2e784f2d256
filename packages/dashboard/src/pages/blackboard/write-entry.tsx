import { useState } from 'react'
import type { BlackboardEntry } from '@flotilla/protocol/blackboard-entry'
import { jsonOrText, parseJsonOrText } from './json-or-text.ts'
import { useAction } from '../../data/use-mesh.ts'
import { FormDialog } from '../../design/form-dialog.tsx'
import { FormField } from '../../design/form-field.tsx'

/**
 * Replaces the version that was read when the dialog opened, or creates a key (`entry` null). If a newer version
 * exists by then, the mesh rejects the write and the dialog keeps the typed text.
 */
export function WriteEntry({
  entry,
  close,
}: {
  readonly entry: BlackboardEntry | null
  readonly close: () => void
}) {
  const [read] = useState(entry)
  const [key, setKey] = useState(entry?.key ?? '')
  const [text, setText] = useState(() => (entry === null ? '' : jsonOrText(entry.value)))
  const write = useAction('blackboardPut', {
    done: 'The entry is written.',
    stale: ['blackboard', 'blackboardHistory'],
  })
  const version = read?.version ?? 0
  return (
    <FormDialog
      title={read === null ? 'New entry' : `Write ${read.key}`}
      words={
        read === null
          ? 'The entry is written only if the key is new.'
          : `This replaces only version ${version}: if another write happens meanwhile, yours is rejected and nothing is lost.`
      }
      action="Write"
      busy={write.isPending || key.trim() === ''}
      onClose={close}
      onSend={() =>
        write.mutate(
          {
            params: { key: key.trim() },
            body: { value: parseJsonOrText(text), expected_version: version },
          },
          { onSuccess: close },
        )
      }
    >
      {read === null && (
        <FormField label="Key, segments joined by /">
          <input
            className="input mono"
            required
            autoFocus
            maxLength={512}
            value={key}
            onChange={(event) => setKey(event.target.value)}
          />
        </FormField>
      )}
      <FormField label="Value (JSON; anything else is kept as text)">
        <textarea
          className="input mono"
          rows={10}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </FormField>
    </FormDialog>
  )
}
