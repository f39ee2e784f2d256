import { useState } from 'react'
import type { JsonValue } from '@flotilla/protocol/json-value'
import { useEdits } from '../../data/use-edits.ts'
import { EditDialog } from '../../design/edit-dialog.tsx'
import { ChoiceField } from '../../design/fields.tsx'
import { FormField } from '../../design/form-field.tsx'
import { mcpBeginnings, mcpEdit, readWritten } from './mcp-edit.ts'

/** Adds or changes an MCP server of an agent and shows the difference. The mesh requires the owner's code for it. */
export function McpForm({
  agentId,
  server: now,
  onClose,
}: {
  readonly agentId: string
  /** Null for a new one. */
  readonly server: { readonly name: string; readonly config: unknown } | null
  readonly onClose: () => void
}) {
  const edits = useEdits(agentId)
  // The value when the form was opened, regardless of later changes by others.
  const [server] = useState(now)
  const before = server === null ? '' : JSON.stringify(server.config, null, 2)
  const [name, setName] = useState(server?.name ?? '')
  const [where, setWhere] = useState<keyof typeof mcpBeginnings>('network')
  const [after, setAfter] = useState<string>(server === null ? mcpBeginnings.network : before)
  const read = readWritten(name, after)
  const begin = (place: keyof typeof mcpBeginnings): void => {
    setWhere(place)
    setAfter(mcpBeginnings[place])
  }
  return (
    <EditDialog
      title={server === null ? `A new MCP server for ${agentId}` : `MCP server ${server.name}`}
      before={before}
      after={after}
      fault={read.fault}
      busy={edits.isPending}
      onSave={() => {
        if (!read.server) return
        const seen = { [name]: server === null ? null : (JSON.parse(before) as JsonValue) } // what it was written of
        edits.mutate([mcpEdit({ set: { [name]: read.server }, seen })], { onSuccess: onClose })
      }}
      onClose={onClose}
    >
      {server === null && (
        <div className="form-row">
          <FormField label="Name">
            <input
              className="input wide mono"
              maxLength={32}
              spellCheck={false}
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          </FormField>
          <ChoiceField
            label="Where it is"
            value={where}
            onChange={begin}
            choices={[
              ['network', 'on the network'],
              ['container', 'a program that runs beside the agent'],
            ]}
          />
        </div>
      )}
      <FormField
        label="How it is set up"
        hint={
          <>
            Never write a secret here: store it under Settings, Credentials, and write{' '}
            <code>$CRED&#123;name&#125;</code> in a header or the address.
          </>
        }
      >
        <textarea
          className="input wide mono"
          rows={10}
          spellCheck={false}
          value={after}
          onChange={(event) => setAfter(event.target.value)}
        />
      </FormField>
    </EditDialog>
  )
}
