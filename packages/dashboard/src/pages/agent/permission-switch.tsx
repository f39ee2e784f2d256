import type { PermissionField } from '@flotilla/protocol/permission-record'
import { useEdits } from '../../data/use-edits.ts'
import { useRefusal } from '../../data/use-mesh.ts'
import { permissionTitles } from './format-permission.ts'
import { permissionEdit } from './permission-edit.ts'

/** Grants or revokes a permission that is only yes or no; the message above the page undoes it. */
export function PermissionSwitch({
  agentId,
  field,
  value,
  hasRecord,
}: {
  readonly agentId: string
  readonly field: PermissionField
  readonly value: boolean
  readonly hasRecord: boolean
}) {
  const edits = useEdits(agentId)
  const refusal = useRefusal({ call: 'agentEdit', agent: agentId, wants: 'owner' })
  return (
    <label className="row">
      <input
        type="checkbox"
        role="switch"
        aria-label={permissionTitles[field]}
        checked={value}
        disabled={refusal !== null || edits.isPending}
        title={refusal ?? undefined}
        onChange={(event) =>
          edits.mutate([
            permissionEdit(field, { before: value, after: event.target.checked ? 'yes' : 'no', hasRecord }),
          ])
        }
      />
      {value ? 'yes' : 'no'}
    </label>
  )
}
