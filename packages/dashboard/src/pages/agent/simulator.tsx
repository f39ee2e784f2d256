import { useState } from 'react'
import type { ExplanationView } from '@flotilla/protocol/control-api'
import { permissionActions } from '@flotilla/protocol/permission-actions'
import { useMesh } from '../../data/use-mesh.ts'
import { ChoiceField } from '../../design/fields.tsx'
import { FormField } from '../../design/form-field.tsx'
import { Badge, Card, Failed, Loading } from '../../design/parts.tsx'

interface Question {
  readonly action: string
  readonly resource: string
  readonly as: 'door' | 'program'
}

/** Answers whether an agent may do something. The mesh decides as it would if the agent tried now. */
export function Simulator({ agentId }: { readonly agentId: string }) {
  const [action, setAction] = useState<string>(permissionActions[0].name)
  const [resource, setResource] = useState('')
  const [as, setAs] = useState<Question['as']>('door')
  const [asked, setAsked] = useState<Question | null>(null)
  const known = permissionActions.find(({ name }) => name === action)
  return (
    <Card title="May this agent …?">
      <form
        className="body stack"
        onSubmit={(event) => {
          event.preventDefault()
          setAsked({ action, resource, as })
        }}
      >
        <div className="form-row">
          <ChoiceField
            label="Do"
            value={action}
            onChange={(next) => {
              setAction(next)
              setResource('')
            }}
            choices={permissionActions.map(({ name }) => [name, name.replaceAll('-', ' ')] as const)}
          />
          {known?.resource != null && (
            <FormField label={`${known.resource.charAt(0).toUpperCase()}${known.resource.slice(1)}`}>
              <input
                className="input wide"
                required
                maxLength={600}
                placeholder={`such as ${known.example}`}
                value={resource}
                onChange={(event) => setResource(event.target.value)}
              />
            </FormField>
          )}
          <ChoiceField
            label="Asked by"
            value={as}
            onChange={setAs}
            choices={[
              ['door', 'the agent'],
              ['program', 'a program that it runs'],
            ]}
          />
          <button type="submit" className="button primary at-start">
            Ask
          </button>
        </div>
        {asked === null ? (
          <p className="small muted">
            Nothing is executed: the mesh shows what it would decide now, and which line decides it.
          </p>
        ) : (
          <Verdict agentId={agentId} asked={asked} />
        )}
      </form>
    </Card>
  )
}

/** Says where on this page the decision can be changed, because the mesh's repair names a terminal command. */
function changeWords({ allowed, field, repair }: ExplanationView): string {
  if (!repair.includes('flotilla ')) return repair
  if (field === null) return 'Set a permission below to create a permission record.'
  return allowed
    ? `Change ${field} below to revoke this permission.`
    : `Change ${field} below to allow this action.`
}

function Verdict({ agentId, asked: question }: { readonly agentId: string; readonly asked: Question }) {
  const { action, resource, as } = question
  const query = { action, as, ...(resource === '' ? {} : { resource }) }
  const explanation = useMesh('permissionsExplain', { params: { id: agentId }, query }, { staleTime: 0 })
  if (explanation.isPending) return <Loading rows={2} />
  if (explanation.error) return <Failed error={explanation.error} />
  const { allowed, reason, file, line } = explanation.data
  const repair = changeWords(explanation.data)
  return (
    <div className="verdict" role="status">
      <div className="row">
        <Badge tone={allowed ? 'ok' : 'bad'}>{allowed ? 'yes' : 'no'}</Badge>
        <span>
          {action.replaceAll('-', ' ')} {resource !== '' && <strong>{resource}</strong>}
        </span>
        <span className="small muted mono">
          {file}
          {line !== null && `:${line}`}
        </span>
      </div>
      <p>{reason}</p>
      {repair !== '' && <p className="muted">{repair}</p>}
    </div>
  )
}
