import { Dialog, DialogHeading } from '@ariakit/react/dialog'
import { Tab, TabList, TabPanel, TabProvider } from '@ariakit/react/tab'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { describeHeartbeatCost, heartbeatModel } from '@flotilla/protocol/heartbeat-cost'
import { defaultHeartbeatSchedule } from '@flotilla/protocol/heartbeat-reply'
import { limits } from '@flotilla/protocol/limits'
import type { PermissionField } from '@flotilla/protocol/permission-record'
import { useMesh } from '../../data/use-mesh.ts'
import { TickField } from '../../design/fields.tsx'
import { FormField } from '../../design/form-field.tsx'
import { agentNameFault, agentNameOf, finishedName } from './agent-name.ts'
import { FromTemplate } from './from-template.tsx'
import { ModelChoice } from './model-choice.tsx'
import { useCreateAgent } from './use-create-agent.ts'

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

/** What a new agent may be given beside the permissions of every agent. */
const offers = [
  ['can_use_browser', 'a browser of its own'],
  ['can_manage_cron', 'scheduled jobs of its own'],
  ['can_spawn', 'helpers for single tasks'],
] as const satisfies readonly (readonly [PermissionField, string])[]

function ByHand({ onClose }: { readonly onClose: () => void }) {
  const [, go] = useLocation()
  const status = useMesh('status')
  const models = useMesh('models')
  const create = useCreateAgent()
  const [typedName, setTypedName] = useState('')
  // The field may end with a hyphen while a person types; the agent's name does not.
  const id = finishedName(typedName)
  const [role, setRole] = useState('')
  const [model, setModel] = useState('')
  const [instructions, setInstructions] = useState('')
  const [usd, setUsd] = useState({
    day: String(limits.budgetDailyUsd.default),
    month: String(limits.budgetMonthlyUsd.default),
  })
  const [beats, setBeats] = useState(false)
  const [allowed, setAllowed] = useState<readonly string[]>([])
  const chosen = model.trim() === '' ? status.data?.default_model?.name : model.trim()
  const fault = agentNameFault(id, status.data?.agents.map((agent) => agent.id) ?? [])
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
          budget: { daily_usd: Number(usd.day), monthly_usd: Number(usd.month) },
        }
        create.mutate(
          { body, heartbeat: beats ? defaultHeartbeatSchedule : null, allowed },
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
          value={typedName}
          onChange={(event) => setTypedName(agentNameOf(event.target.value))}
          onBlur={() => setTypedName(id)}
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
      <ModelChoice value={model} onChange={setModel} />
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
      <div className="form-row">
        <UsdField
          label="Dollars a day"
          bounds={limits.budgetDailyUsd}
          value={usd.day}
          onChange={(day) => setUsd({ ...usd, day })}
        />
        <UsdField
          label="Dollars a month"
          bounds={limits.budgetMonthlyUsd}
          value={usd.month}
          onChange={(month) => setUsd({ ...usd, month })}
        />
      </div>
      <fieldset className="ticks">
        <legend>It may use</legend>
        {offers.map(([field, words]) => (
          <TickField
            key={field}
            label={words}
            checked={allowed.includes(field)}
            onChange={(on) => setAllowed(on ? [...allowed, field] : allowed.filter((one) => one !== field))}
          />
        ))}
        <TickField
          label={`a heartbeat, which looks for work by itself: ${describeHeartbeatCost(defaultHeartbeatSchedule, heartbeatModel(models.data?.models ?? [], chosen))}`}
          checked={beats}
          onChange={setBeats}
        />
      </fieldset>
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

/** The amount that a new agent may spend in a period. */
function UsdField({
  label,
  bounds: { min, max },
  value,
  onChange,
}: {
  readonly label: string
  readonly bounds: { readonly min: number; readonly max: number }
  readonly value: string
  readonly onChange: (usd: string) => void
}) {
  return (
    <FormField label={label}>
      <input
        className="input wide number"
        type="number"
        min={min}
        max={max}
        step="any"
        required
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </FormField>
  )
}
