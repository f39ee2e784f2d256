import { useState } from 'react'
import type { PermissionOrigin } from '@flotilla/protocol/kept-api'
import { permissionRecordSchema } from '@flotilla/protocol/permission-record'
import { useMesh } from '../../data/use-mesh.ts'
import { Act, Reserved } from '../../design/act.tsx'
import { Ago, Badge, Card, Failed, Loading } from '../../design/parts.tsx'
import { Table } from '../../design/table.tsx'
import { Changes } from './changes.tsx'
import { describeReach } from './describe-reach.ts'
import { isPermissionField } from './permission-edit.ts'
import { PermissionForm } from './permission-form.tsx'
import { PermissionSwitch } from './permission-switch.tsx'
import { permissionTitles, permissionValue, permissionWords } from './format-permission.ts'
import { Simulator } from './simulator.tsx'
import { formatActor } from '@flotilla/protocol/format-actor'

const froms = {
  none: { tone: 'neutral', words: 'not given' },
  default: { tone: 'neutral', words: 'default' },
  grant: { tone: 'busy', words: 'grant' },
} as const

/** Shows an agent's permissions, who granted them, and a simulator for single actions. */
export function PermissionsTab({ agentId }: { readonly agentId: string }) {
  return (
    <>
      <Simulator agentId={agentId} />
      <Reserved call="permissionOrigins" title="Permissions">
        <Given key={agentId} agentId={agentId} />
      </Reserved>
      <Changes agentId={agentId} />
    </>
  )
}

function Given({ agentId }: { readonly agentId: string }) {
  const origins = useMesh('permissionOrigins', { params: { id: agentId } })
  const { data } = origins
  const [changing, setChanging] = useState<PermissionOrigin | null>(null)
  // What was given when the page was opened is listed first, so that no row moves away from the person who changes it.
  const [first, setFirst] = useState<ReadonlySet<string> | null>(null)
  if (data && first === null)
    setFirst(new Set(data.fields.flatMap(({ field, from }) => (from === 'none' ? [] : [field]))))
  return (
    <>
      <Card title="Permissions" more={data && <span className="small muted mono">{data.file}</span>}>
        {origins.isPending && <Loading />}
        {origins.error && <Failed error={origins.error} retry={origins.refetch} />}
        {data?.broken != null && (
          <div className="body">
            <Failed
              error={
                new Error(
                  `All agents are denied everything, because the permission file is invalid: ${data.broken}`,
                )
              }
            />
          </div>
        )}
        {data?.broken === null && !data.has_record && (
          <div className="body">
            <div className="note warn">
              <strong>This agent has no permission record, so everything is denied.</strong>
              <span>Set a permission below to create the record.</span>
            </div>
          </div>
        )}
        {data && data.broken === null && <Reach agentId={agentId} fields={data.fields} />}
        {data && data.fields.length > 0 && (
          <Table
            label="Table of permissions"
            columns={['Permission', 'Value', 'Why', 'Given by', { right: 'Line' }]}
            hasActions
          >
            {data.fields.toSorted(byPlace(first)).map((field) => (
              <Row
                key={field.field}
                agentId={agentId}
                origin={field}
                hasRecord={data.has_record}
                onChange={() => setChanging(field)}
              />
            ))}
          </Table>
        )}
      </Card>
      {changing && data && isPermissionField(changing.field) && (
        <PermissionForm
          agentId={agentId}
          field={changing.field}
          value={changing.value}
          hasRecord={data.has_record}
          onClose={() => setChanging(null)}
        />
      )}
    </>
  )
}

/** Says in one sentence what the agent may reach; nothing if the mesh reports a value of another release. */
function Reach({
  agentId,
  fields,
}: {
  readonly agentId: string
  readonly fields: readonly PermissionOrigin[]
}) {
  const read = permissionRecordSchema.safeParse(
    Object.fromEntries(fields.map(({ field, value }) => [field, value])),
  )
  return read.success ? <p className="body">{describeReach(agentId, read.data)}</p> : null
}

function Row({
  agentId,
  origin: { field, value, from, by, at, line },
  hasRecord,
  onChange,
}: {
  readonly agentId: string
  readonly origin: PermissionOrigin
  readonly hasRecord: boolean
  readonly onChange: () => void
}) {
  const { tone, words: label } = froms[from]
  const isSwitch = isPermissionField(field) && typeof value === 'boolean'
  return (
    <tr>
      <td>
        {isPermissionField(field) && <strong>{permissionTitles[field]}</strong>}
        <div className="small muted">
          {isPermissionField(field) && `${permissionWords[field]}; `}
          <span className="mono">{field}</span>
        </div>
      </td>
      <td className={from === 'none' ? 'muted' : ''} data-label="Value">
        {isSwitch ? (
          <PermissionSwitch agentId={agentId} field={field} value={value} hasRecord={hasRecord} />
        ) : (
          permissionValue(value)
        )}
      </td>
      <td data-label="Why">
        <Badge tone={tone}>{label}</Badge>
      </td>
      <td data-label="Given by">
        {from === 'default' ? (
          <span className="muted">default of its kind</span>
        ) : by === null ? (
          <span className="muted">{from === 'none' ? '–' : 'not recorded'}</span>
        ) : (
          <>
            {from === 'none' && <span className="muted">taken by </span>}
            {formatActor(by)}
          </>
        )}
        {at !== null && (
          <span className="small muted">
            {' '}
            <Ago at={at} />
          </span>
        )}
      </td>
      <td className="right number muted" data-label="Line">
        {line ?? '–'}
      </td>
      <td className="right">
        {!isSwitch && (
          <Act call="agentEdit" wants="owner" className="button small" onClick={onChange}>
            Change …<span className="hidden-words"> {field}</span>
          </Act>
        )}
      </td>
    </tr>
  )
}

function byPlace(first: ReadonlySet<string> | null) {
  const place = ({ field }: PermissionOrigin) => Number(first?.has(field) !== true)
  return (left: PermissionOrigin, right: PermissionOrigin) => place(left) - place(right)
}
