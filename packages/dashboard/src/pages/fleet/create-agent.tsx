import { Dialog, DialogHeading } from '@ariakit/react/dialog'
import { Tab, TabList, TabPanel, TabProvider } from '@ariakit/react/tab'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { describeHeartbeatCost, heartbeatModel } from '@flotilla/protocol/heartbeat-cost'
import { defaultHeartbeatSchedule } from '@flotilla/protocol/heartbeat-reply'
import { agentIdSchema } from '@flotilla/protocol/ids'
import { limits } from '@flotilla/protocol/limits'
import { useAction, useMesh } from '../../data/use-mesh.ts'
import { FormField } from '../../design/form-field.tsx'
import { FromTemplate } from './from-template.tsx'

/** Creates one agent by hand, or several from a template. */
export function CreateAgent({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog open onClose={onClose} className="dialog wide-dialog" backdrop={<div className="veil" />}>
      <DialogHeading>New agent</DialogHeading>
      <TabProvider defaultSelectedId="by-hand">
        <TabList className="tab-list" aria-label="How to create the agent">
          <Tab id="by-hand" className="tab">
            By hand
          </Tab>
          <Tab id="from-template" className="tab">
            From a template
          </Tab>
        </TabList>
        <TabPanel tabId="by-hand" className="tab-panel">
          <ByHand onClose={onClose} />
        </TabPanel>
        <TabPanel tabId="from-template" className="tab-panel" unmountOnHide>
          <FromTemplate onClose={onClose} />
        </TabPanel>
      </TabProvider>
    </Dialog>
  )
}

const instructionsMaxChars = limits.workspaceFileMaxChars['INSTRUCTIONS.md']

function ByHand({ onClose }: { readonly onClose: () => void }) {
  const [, go] = useLocation()
  const status = useMesh('status')
  const models = useMesh('models')
  const create = useAction('agentCreate', { stale: ['status', 'fleetUse', 'budgets'] })
  const [id, setId] = useState('')
  const [role, setRole] = useState('')
  const [model, setModel] = useState('')
  const [instructions, setInstructions] = useState('')
  const chosen = model.trim() === '' ? status.data?.default_model?.name : model.trim()
  const fault = id === '' ? null : faultOfId(id)
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault()
        const body = {
          id,
          role: role.trim(),
          instructions,
          ...(model.trim() === '' ? {} : { model: model.trim() }),
        }
        create.mutate(
          { body },
          {
            onSuccess: () => {
              onClose()
              go(`/agents/${encodeURIComponent(id)}`)
            },
          },
        )
      }}
    >
      <FormField label="Name" hint={fault ?? 'The name is used everywhere and cannot be changed later.'}>
        <input
          className="input wide"
          required
          autoFocus
          autoComplete="off"
          aria-invalid={fault !== null}
          value={id}
          onChange={(event) => setId(event.target.value)}
        />
      </FormField>
      <FormField
        label="Role"
        hint="A sentence or two. Other agents read the role to decide what to ask this agent."
      >
        <textarea
          className="input wide"
          rows={2}
          required
          maxLength={500}
          value={role}
          onChange={(event) => setRole(event.target.value)}
        />
      </FormField>
      <FormField
        label="Model"
        hint={`Empty follows the fleet’s default, ${status.data?.default_model?.name ?? 'which is not set'}.`}
      >
        <input
          className="input wide mono"
          list="models-offered"
          maxLength={200}
          value={model}
          onChange={(event) => setModel(event.target.value)}
        />
      </FormField>
      <datalist id="models-offered">
        {models.data?.models.map((known) => (
          <option key={known.id} value={known.id} />
        ))}
      </datalist>
      <FormField
        label="Instructions"
        hint={`${instructions.length} of ${instructionsMaxChars} characters; they can be changed at any time.`}
      >
        <textarea
          className="input wide"
          rows={5}
          maxLength={instructionsMaxChars}
          value={instructions}
          onChange={(event) => setInstructions(event.target.value)}
        />
      </FormField>
      <p className="small muted">
        Its heartbeat is off. Switch it on in its Schedule tab, for example{' '}
        {describeHeartbeatCost(defaultHeartbeatSchedule, heartbeatModel(models.data?.models ?? [], chosen))}
      </p>
      <div className="actions">
        <button type="button" className="button" onClick={onClose}>
          Cancel
        </button>
        <button
          type="submit"
          className="button primary"
          disabled={create.isPending || fault !== null || id === '' || role.trim() === ''}
        >
          {create.isPending ? 'Creating' : 'Create'}
        </button>
      </div>
    </form>
  )
}

function faultOfId(id: string): string | null {
  const result = agentIdSchema.safeParse(id)
  return result.success ? null : (result.error.issues[0]?.message ?? 'This is not a valid agent name.')
}
