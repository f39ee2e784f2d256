import { useState } from 'react'
import { isolationRungs } from '@flotilla/protocol/isolation'
import type { PermissionOrigin } from '@flotilla/protocol/kept-api'
import type { PermissionField } from '@flotilla/protocol/permission-record'
import { useEdits } from '../../data/use-edits.ts'
import { EditDialog } from '../../design/edit-dialog.tsx'
import { ChoiceField } from '../../design/fields.tsx'
import { FormField } from '../../design/form-field.tsx'
import {
  entriesOf,
  permissionEdit,
  permissionFault,
  permissionKind,
  permissionText,
} from './permission-edit.ts'
import { permissionTitles, permissionWords } from './format-permission.ts'

/** Edits one permission of an agent and shows the difference; the mesh requires the owner's proof. */
export function PermissionForm({
  agentId,
  field,
  value: now,
  hasRecord,
  onClose,
}: {
  readonly agentId: string
  readonly field: PermissionField
  readonly value: PermissionOrigin['value']
  readonly hasRecord: boolean
  readonly onClose: () => void
}) {
  const edits = useEdits(agentId)
  // The value when the form was opened, regardless of later changes by others.
  const [value] = useState(now)
  const before = permissionText(value)
  const [after, setAfter] = useState(before)
  const kind = permissionKind(field)
  const asLines = (text: string) =>
    kind === 'list' ? entriesOf(text).join('\n') : `${field}: ${text.trim()}`
  return (
    <EditDialog
      title={`${permissionTitles[field]}, ${agentId}`}
      before={asLines(before)}
      after={asLines(after)}
      fault={permissionFault(field, after)}
      busy={edits.isPending}
      onSave={() =>
        edits.mutate([permissionEdit(field, { before: value, after, hasRecord })], { onSuccess: onClose })
      }
      onClose={onClose}
    >
      <p className="muted">
        This says: {permissionWords[field]}. Its name in the file is <code>{field}</code>.
      </p>
      {kind === 'flag' && (
        <ChoiceField label="May it?" value={after} onChange={setAfter} choices={['no', 'yes']} />
      )}
      {kind === 'rung' && (
        <ChoiceField label="At least" value={after} onChange={setAfter} choices={isolationRungs} />
      )}
      {kind === 'number' && (
        <FormField label="At most" hint="0 means that the limit of the fleet applies.">
          <input
            className="input wide number"
            type="number"
            min="0"
            step="any"
            required
            value={after}
            onChange={(event) => setAfter(event.target.value)}
          />
        </FormField>
      )}
      {kind === 'list' && (
        <FormField label="Entries, one a line" hint="An empty list allows nothing; * allows all.">
          <textarea
            className="input wide mono"
            rows={8}
            spellCheck={false}
            value={after}
            onChange={(event) => setAfter(event.target.value)}
          />
        </FormField>
      )}
    </EditDialog>
  )
}
