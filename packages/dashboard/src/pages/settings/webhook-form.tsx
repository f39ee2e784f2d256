import { useState } from 'react'
import type { WebhookView } from '@flotilla/protocol/webhook-api'
import { webhookLimits } from '@flotilla/protocol/webhook-api'
import { useAction, useMesh } from '../../data/use-mesh.ts'
import { AreaField, ChoiceField, TextField, TickField } from '../../design/fields.tsx'

export function WebhookForm({
  onDone,
}: {
  readonly onDone: (hook: WebhookView, secret: string | null) => void
}) {
  const status = useMesh('status')
  const agents = (status.data?.agents ?? []).filter(({ archived }) => !archived)
  const [name, setName] = useState('')
  const [agent, setAgent] = useState('')
  const [instructions, setInstructions] = useState('')
  const [when, setWhen] = useState('')
  const [signed, setSigned] = useState(true)
  const create = useAction('webhookCreate', { stale: ['webhooks'] })
  const target = agent === '' ? (agents[0]?.id ?? '') : agent
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault()
        create.mutate(
          {
            body: {
              name: name.trim(),
              agent_id: target,
              instructions,
              when: when.trim() === '' ? null : when.trim(),
              signed,
            },
          },
          { onSuccess: ({ webhook, secret }) => onDone(webhook, secret) },
        )
      }}
    >
      <div className="form-pair">
        <TextField
          label="Name"
          value={name}
          onChange={setName}
          maxLength={webhookLimits.nameMaxChars}
          required
          placeholder="Alerts of the shop"
        />
        <ChoiceField
          label="Agent"
          value={target}
          onChange={setAgent}
          choices={agents.map(({ id }) => [id, id])}
        />
      </div>
      <AreaField
        label="What the agent does with an event"
        value={instructions}
        onChange={setInstructions}
        rows={3}
        maxLength={webhookLimits.instructionsMaxChars}
        placeholder="Find out what is broken, and tell me in two sentences."
      />
      <TextField
        label="Only when"
        value={when}
        onChange={setWhen}
        maxLength={webhookLimits.whenMaxChars}
        placeholder={'severity == "high"'}
        hint="A condition on the fields of an event; empty accepts every event."
      />
      <TickField label="The sender must sign each event" checked={signed} onChange={setSigned} />
      {!signed && (
        <div className="note warn">Every sender who learns the address can then send text to this agent.</div>
      )}
      <div>
        <button type="submit" className="button primary" disabled={create.isPending || target === ''}>
          Create webhook
        </button>
      </div>
    </form>
  )
}
