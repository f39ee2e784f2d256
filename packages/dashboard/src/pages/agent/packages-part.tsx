import { useState } from 'react'
import { toolboxNames } from '@flotilla/protocol/agent-packages'
import type { AgentPackagesView, PackageImageView } from '@flotilla/protocol/packages-api'
import { useAction, useMesh, useRefusal, useServices } from '../../data/use-mesh.ts'
import { Act } from '../../design/act.tsx'
import { EditDialog } from '../../design/edit-dialog.tsx'
import { TickField } from '../../design/fields.tsx'
import { FormField } from '../../design/form-field.tsx'
import { Badge, Failed, Loading } from '../../design/parts.tsx'
import type { Tone } from '../../live/state-tone.ts'
import { packageFields, packagesText, readPackages } from './package-edit.ts'

const stale = ['agentPackages', 'packages'] as const
/** How often the state of an image is asked for while it is built, in milliseconds. */
const buildEveryMs = 3000

/** The packages in an agent's image, with the state of the image. For people who may see it. */
export function Packages({ agentId }: { readonly agentId: string }) {
  const maySee = useRefusal({ call: 'agentPackages', agent: agentId }) === null
  const packages = useMesh(
    'agentPackages',
    { params: { id: agentId } },
    {
      enabled: maySee,
      refetchInterval: ({ state: { data } }) => (isBuilding(data) ? buildEveryMs : false),
    },
  )
  const rebuild = useAction('rebuildPackages', { done: 'The image is being built.', stale })
  const [isChanging, setChanging] = useState(false)
  if (!maySee) return null
  const { data } = packages
  return (
    <section className="stack tight" aria-label="Packages">
      <div className="row apart">
        <h3>Packages</h3>
        <div className="row">
          {data?.image != null && (
            <Act
              call="rebuildPackages"
              agent={agentId}
              className="button small quiet"
              disabled={
                rebuild.isPending || data.image.state === 'building' || data.image.state === 'unavailable'
              }
              title="Builds the image again, with the newest versions."
              onClick={() => rebuild.mutate({ params: { id: agentId } })}
            >
              Rebuild
            </Act>
          )}
          <Act
            call="setAgentPackages"
            agent={agentId}
            className="button small"
            onClick={() => setChanging(true)}
          >
            Change …<span className="hidden-words"> packages</span>
          </Act>
        </div>
      </div>
      {packages.isPending && <Loading rows={2} />}
      {packages.error && <Failed error={packages.error} retry={packages.refetch} />}
      {data && <Image image={data.image} />}
      {isChanging && data && <PackagesForm view={data} onClose={() => setChanging(false)} />}
    </section>
  )
}

/** The data of a query is unknown to its polling. */
function isBuilding(data: unknown): boolean {
  const image = (data as AgentPackagesView | undefined)?.image
  return image?.state === 'building'
}

const states: Readonly<Record<PackageImageView['state'], { readonly tone: Tone; readonly words: string }>> = {
  none: { tone: 'neutral', words: 'built at the next start' },
  building: { tone: 'busy', words: 'building' },
  ready: { tone: 'ok', words: 'ready' },
  failed: { tone: 'bad', words: 'failed' },
  unavailable: { tone: 'warn', words: 'not available' },
}

function Image({ image }: { readonly image: PackageImageView | null }) {
  if (image === null) return <p className="small muted">None beyond those of every agent.</p>
  const { tone, words } = states[image.state]
  const locked = (['apt', 'npm', 'pip'] as const).flatMap((from) =>
    (image.locked?.[from] ?? []).map(({ name, version }) => ({ from, name, version })),
  )
  const asked = (['apt', 'npm', 'pip'] as const).flatMap((from) =>
    (image.packages[from] ?? []).map((name) => `${from} ${name}`),
  )
  return (
    <>
      <p className="row small">
        <Badge tone={tone}>{words}</Badge>
        <span className="plain-text">{asked.join(', ')}</span>
      </p>
      {image.detail !== '' && (
        <div className={`note small ${image.state === 'failed' ? 'bad' : 'warn'}`}>
          <span className="plain-text">{image.detail}</span>
        </div>
      )}
      {image.agents.length > 1 && (
        <p className="small muted">The image is shared by {image.agents.join(', ')}.</p>
      )}
      {locked.length > 0 && (
        <details className="small">
          <summary className="muted">Locked: {locked.length} with dependencies</summary>
          <ul className="points mono">
            {locked.map(({ from, name, version }) => (
              <li key={`${from}:${name}:${version}`}>
                {from} {name} {version}
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  )
}

function PackagesForm({
  view: { agent_id: agentId, own },
  onClose,
}: {
  readonly view: AgentPackagesView
  readonly onClose: () => void
}) {
  const { client } = useServices()
  // The packages when the form was opened; later changes by other people do not alter them.
  const [before] = useState(() => packageFields(own))
  const [after, setAfter] = useState(before)
  const { list, fault } = readPackages(after)
  const save = useAction('setAgentPackages', {
    done: `The packages of ${agentId} are changed; its next run uses them.`,
    stale,
    undo: () => ({
      by: 'setAgentPackages',
      run: () => client.call('setAgentPackages', { params: { id: agentId }, body: own }),
      done: `The packages of ${agentId} are as they were.`,
    }),
  })
  return (
    <EditDialog
      title={`Packages of ${agentId}`}
      before={packagesText(before)}
      after={packagesText(after)}
      fault={fault}
      busy={save.isPending}
      onSave={() =>
        list !== null && save.mutate({ params: { id: agentId }, body: list }, { onSuccess: onClose })
      }
      onClose={onClose}
    >
      <fieldset className="ticks">
        <legend>Toolboxes</legend>
        {toolboxNames.map((name) => (
          <TickField
            key={name}
            label={name}
            checked={after.toolboxes.includes(name)}
            onChange={(checked) =>
              setAfter({
                ...after,
                toolboxes: checked
                  ? [...after.toolboxes, name]
                  : after.toolboxes.filter((other) => other !== name),
              })
            }
          />
        ))}
      </fieldset>
      {(['apt', 'npm', 'pip'] as const).map((from) => (
        <FormField key={from} label={from} hint={hints[from]}>
          <textarea
            className="input wide mono"
            rows={2}
            spellCheck={false}
            value={after[from]}
            onChange={(event) => setAfter({ ...after, [from]: event.target.value })}
          />
        </FormField>
      ))}
    </EditDialog>
  )
}

const hints = {
  apt: 'One a line, such as ripgrep or ripgrep=13.0.0-4+b2.',
  npm: 'Such as typescript or typescript@5.9.',
  pip: 'Such as requests or requests==2.32.3.',
} as const
