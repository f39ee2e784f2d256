import { useState } from 'react'
import { backupLimits } from '@flotilla/protocol/backup-limits'
import type { BackupFile, BackupsView } from '@flotilla/protocol/backup-api'
import { formatBytes } from '../../data/format.ts'
import { useAction, useMesh } from '../../data/use-mesh.ts'
import { FormDialog } from '../../design/form-dialog.tsx'
import { FormField } from '../../design/form-field.tsx'
import { Ago, Badge, Bar, Card, Empty, Failed, Loading } from '../../design/parts.tsx'

/** Polling interval: no event reports the progress of a backup. */
const askEveryMs = 1000
const stale = ['backups'] as const

/** Backs up the whole fleet to one file, verifies a backup, and explains how to restore it to an empty home. */
export function Backup() {
  const [works, setWorks] = useState(false)
  const found = useMesh('backups', {}, { refetchInterval: works ? askEveryMs : false })
  const isWorking = found.data?.working != null
  if (isWorking !== works) setWorks(isWorking)
  const [making, setMaking] = useState(false)
  const [reading, setReading] = useState<BackupFile | null>(null)
  return (
    <>
      <Card
        title="Backups"
        more={
          <button
            type="button"
            className="button small"
            disabled={!found.data || isWorking}
            onClick={() => setMaking(true)}
          >
            Make a backup …
          </button>
        }
      >
        {found.isPending && <Loading />}
        {found.error && <Failed error={found.error} retry={found.refetch} />}
        {found.data && <Now view={found.data} />}
        {found.data?.backups.length === 0 && !isWorking && (
          <Empty title="No backup yet">
            A backup is one file with the current state of the home, the database and the data of each agent.
            The fleet keeps working meanwhile.
          </Empty>
        )}
        {found.data && found.data.backups.length > 0 && (
          <ul className="body stack">
            {found.data.backups.map((one) => (
              <li key={one.name}>
                <div className="row apart">
                  <div className="row">
                    <strong className="mono">{one.name}</strong>
                    <span className="small muted">
                      <Ago at={one.made_at} />, {formatBytes(one.bytes)}
                    </span>
                    <Closing encrypted={one.encrypted} />
                  </div>
                  <button
                    type="button"
                    className="button small"
                    disabled={isWorking}
                    onClick={() => setReading(one)}
                  >
                    Verify …<span className="hidden-words"> {one.name}</span>
                  </button>
                </div>
              </li>
            ))}
          </ul>
        )}
      </Card>
      <Restore folder={found.data?.folder} newest={found.data?.backups[0]} />
      {making && <Make close={() => setMaking(false)} />}
      {reading && <Verify backup={reading} close={() => setReading(null)} />}
    </>
  )
}

function Closing({ encrypted }: { readonly encrypted: boolean | null }) {
  if (encrypted === null) return <Badge tone="bad">not a backup file</Badge>
  return encrypted ? <Badge tone="ok">encrypted</Badge> : <Badge>without secrets, readable by all</Badge>
}

/** Shows the running backup, or how the last one ended. */
function Now({ view: { working, last } }: { readonly view: BackupsView }) {
  if (working) {
    const { deed, name, step, bytes, of } = working
    return (
      <div className="body stack" role="status">
        <div className="row apart">
          <span>
            {deed === 'make' ? 'Making' : 'Reading'} <span className="mono">{name}</span>
          </span>
          <span className="small muted number">
            {formatBytes(bytes)}
            {of !== null && ` of ${formatBytes(of)}`}
          </span>
        </div>
        {of !== null && of > 0 && (
          <Bar part={Math.min(1, bytes / of)} label={`Part of ${name} that is done`} />
        )}
        <span className="small muted">{step}</span>
      </div>
    )
  }
  if (!last) return null
  return (
    <div className="body">
      <div className={`note ${last.ok ? 'neutral' : 'bad'}`} role="status">
        <strong>
          {last.name}{' '}
          {last.deed === 'make'
            ? last.ok
              ? 'is complete'
              : 'failed'
            : last.ok
              ? 'is whole'
              : 'is incomplete, or cannot be read'}
        </strong>
        <span>{last.words}</span>
      </div>
    </div>
  )
}

function Make({ close }: { readonly close: () => void }) {
  const [closed, setClosed] = useState(true)
  const [passphrase, setPassphrase] = useState('')
  const make = useAction('backupMake', { stale })
  const isShort = closed && passphrase.length < backupLimits.passphraseMinChars
  return (
    <FormDialog
      title="Make a backup"
      words="The current state of this home. The fleet keeps working meanwhile."
      action="Make backup"
      busy={make.isPending || isShort}
      onSend={() => make.mutate({ body: { passphrase: closed ? passphrase : null } }, { onSuccess: close })}
      onClose={close}
    >
      <label className="row">
        <input type="checkbox" checked={closed} onChange={(event) => setClosed(event.target.checked)} />
        Encrypted, with the secrets of the home
      </label>
      {closed ? (
        <FormField
          label="Passphrase"
          hint={`${backupLimits.passphraseMinChars} characters or more. Store it somewhere else: without it the backup cannot be read, not even by you.`}
        >
          <input
            className="input wide"
            type="password"
            autoComplete="new-password"
            maxLength={backupLimits.passphraseMaxChars}
            value={passphrase}
            onChange={(event) => setPassphrase(event.target.value)}
          />
        </FormField>
      ) : (
        <p className="muted">
          Keys of providers, credentials and the mesh’s own secret are left out. Everything else, such as the
          memory of agents, can be read by every person who gets the file.
        </p>
      )}
    </FormDialog>
  )
}

function Verify({ backup, close }: { readonly backup: BackupFile; readonly close: () => void }) {
  const [passphrase, setPassphrase] = useState('')
  const verify = useAction('backupVerify', { stale })
  const asks = backup.encrypted !== false
  return (
    <FormDialog
      title={`Verify ${backup.name}`}
      words="The whole backup is read, as a restore would do; nothing is written."
      action="Verify"
      busy={verify.isPending || (asks && passphrase.length < backupLimits.passphraseMinChars)}
      onSend={() =>
        verify.mutate(
          { params: { name: backup.name }, body: { passphrase: asks ? passphrase : null } },
          { onSuccess: close },
        )
      }
      onClose={close}
    >
      {asks && (
        <FormField label="Its passphrase">
          <input
            className="input wide"
            type="password"
            autoComplete="off"
            maxLength={backupLimits.passphraseMaxChars}
            value={passphrase}
            onChange={(event) => setPassphrase(event.target.value)}
          />
        </FormField>
      )}
    </FormDialog>
  )
}

/** Explains the restore, which needs an empty home and so cannot run on a page of a mesh. */
function Restore({
  folder,
  newest,
}: {
  readonly folder: string | undefined
  readonly newest: BackupFile | undefined
}) {
  const file = `${folder ?? 'FOLDER'}/${newest?.name ?? 'backup-…'}`
  const passphrase = newest?.encrypted === false ? '' : ' --passphrase-file FILE'
  return (
    <Card title="What a restore needs">
      <div className="body stack">
        <ul className="points">
          <li>
            The file. It is on the disk of this mesh: copy it to another disk, or it is lost together with
            this one.
          </li>
          <li>Its passphrase, as the first line of a file. Flotilla does not keep it.</li>
          <li>This release of Flotilla or a newer one, and a home that is empty or not there yet.</li>
          <li>
            The old mesh stopped before the new one starts: both have the same credentials and the same jobs.
          </li>
          <li>
            If the backup is without secrets: the keys, which you write into <code>.env</code> again.
          </li>
        </ul>
        <p>In a terminal:</p>
        <pre className="code">
          flotilla restore {file} --home NEW_HOME{passphrase}
        </pre>
      </div>
    </Card>
  )
}
