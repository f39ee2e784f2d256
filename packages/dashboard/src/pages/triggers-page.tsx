import { Reserved } from '../design/act.tsx'
import { PageHead } from '../design/parts.tsx'
import { Integrations } from './settings/integrations.tsx'
import './settings/settings.css'
import '../design/triggers.css'
import { Heartbeats } from './triggers/heartbeats-card.tsx'
import { Jobs } from './triggers/jobs-card.tsx'
import { Watchers } from './triggers/watchers-card.tsx'

export function TriggersPage() {
  return (
    <div className="page">
      <PageHead title="Triggers" />
      <Jobs />
      <Heartbeats />
      <Reserved call="webhooks" title="Webhooks">
        <Integrations />
      </Reserved>
      <Watchers />
    </div>
  )
}
