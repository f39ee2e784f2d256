import { useState } from 'react'
import type { PermissionOrigin } from '@flotilla/protocol/kept-api'
import { useMesh } from '../../data/use-mesh.ts'
import { Act, Reserved } from '../../design/act.tsx'
import { Ago, Badge, Card, Failed, Loading } from '../../design/parts.tsx'
import { Table } from '../../design/table.tsx'
import { Changes } from './changes.tsx'
import { isPermissionField } from './permission-edit.ts'
import { PermissionForm } from './permission-form.tsx'
import { permissionWords } from './format-permission.ts'
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
        <Given agentId={agentId} />
      </Reserved>
      <Changes agentId={agentId} />
    </>
  )
}

function Given({ agentId }: { readonly agentId: string }) {
  const origins = useMesh('permissionOrigins', { params: { id: agentId } })
  const { data } = origins
  const [changing, setChanging] = useState<PermissionOrigin | null>(null)
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
        {data && data.fields.length > 0 && (
          <Table
            label="Table of permissions"
            columns={['Permission', 'Value', 'Why', 'Given by', { right: 'Line' }]}
            hasActions
          >
            {data.fields.toSorted(givenFirst).map((field) => (
              <Row key={field.field} origin={field} onChange={() => setChanging(field)} />
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

function Row({
  origin: { field, value, from, by, at, line },
  onChange,
}: {
  readonly origin: PermissionOrigin
  readonly onChange: () => void
}) {
  const { tone, words: label } = froms[from]
  return (
    <tr>
      <td>
        <span className="mono">{field}</span>
        {isPermissionField(field) && <div className="small muted">{permissionWords[field]}</div>}
      </td>
      <td className={from === 'none' ? 'muted' : ''} data-label="Value">
        {valueWords(value)}
      </td>
      <td data-label="Why">
        <Badge tone={tone}>{label}</Badge>
      </td>
      <td data-label="Given by">
        {by === null ? (
          <span className="muted">{from === 'default' ? 'the kind of agent' : '–'}</span>
        ) : (
          formatActor(by)
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
        <Act call="agentEdit" wants="owner" className="button small" onClick={onChange}>
          Change …<span className="hidden-words"> {field}</span>
        </Act>
      </td>
    </tr>
  )
}

function givenFirst(left: PermissionOrigin, right: PermissionOrigin): number {
  return Number(left.from === 'none') - Number(right.from === 'none')
}

function valueWords(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'nothing' : value.map(String).join(', ')
  if (value === true) return 'yes'
  if (value === false) return 'no'
  if (value === null) return 'all that are known'
  return JSON.stringify(value)
}
