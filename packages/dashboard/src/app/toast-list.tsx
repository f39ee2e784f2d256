import { useSyncExternalStore } from 'react'
import { useServices } from '../data/use-mesh.ts'
import { Icon } from '../design/icons.tsx'
import { Dot } from '../design/parts.tsx'
import { RepairLink } from '../design/repair.tsx'

export function Toasts() {
  const { toasts } = useServices()
  const list = useSyncExternalStore(toasts.subscribe, toasts.list)
  return (
    <div className="toasts" role="status" aria-live="polite">
      {list.map(({ id, tone, title, repair, code, undo }) => (
        <div key={id} className="toast">
          <Dot tone={tone} />
          <div>
            <div>{title}</div>
            {repair !== undefined && <div className="muted">{repair}</div>}
          </div>
          {code !== undefined && <RepairLink code={code} />}
          {undo && (
            <button type="button" className="button small" onClick={() => void toasts.undo(id)}>
              Undo
            </button>
          )}
          <button
            type="button"
            className="button quiet small"
            aria-label="Close message"
            onClick={() => toasts.close(id)}
          >
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  )
}
