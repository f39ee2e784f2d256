import { lazy } from 'react'
import { loadChunk } from './load-chunk.ts'

// Each page is loaded at its first visit.
export const ChatPage = lazy(async () => ({
  default: (await loadChunk(() => import('../pages/chat/chat-page.tsx'))).ChatPage,
}))
export const FleetPage = lazy(async () => ({
  default: (await loadChunk(() => import('../pages/fleet/fleet-page.tsx'))).FleetPage,
}))
export const AgentPage = lazy(async () => ({
  default: (await loadChunk(() => import('../pages/agent/agent-page.tsx'))).AgentPage,
}))
export const RunsPage = lazy(async () => ({
  default: (await loadChunk(() => import('../pages/runs/runs-page.tsx'))).RunsPage,
}))
export const RunPage = lazy(async () => ({
  default: (await loadChunk(() => import('../pages/run-page.tsx'))).RunPage,
}))
export const WorkPage = lazy(async () => ({
  default: (await loadChunk(() => import('../pages/work/work-page.tsx'))).WorkPage,
}))
export const BlackboardPage = lazy(async () => ({
  default: (await loadChunk(() => import('../pages/blackboard/blackboard-page.tsx'))).BlackboardPage,
}))
export const ApprovalsPage = lazy(async () => ({
  default: (await loadChunk(() => import('../pages/approvals-page.tsx'))).ApprovalsPage,
}))
export const ApprovalPage = lazy(async () => ({
  default: (await loadChunk(() => import('../pages/approval-page.tsx'))).ApprovalPage,
}))
export const PolicyPage = lazy(async () => ({
  default: (await loadChunk(() => import('../pages/policy-page.tsx'))).PolicyPage,
}))
export const CostsPage = lazy(async () => ({
  default: (await loadChunk(() => import('../pages/costs-page.tsx'))).CostsPage,
}))
export const TriggersPage = lazy(async () => ({
  default: (await loadChunk(() => import('../pages/triggers-page.tsx'))).TriggersPage,
}))
export const WalletPage = lazy(async () => ({
  default: (await loadChunk(() => import('../pages/wallet/wallet-page.tsx'))).WalletPage,
}))
export const JournalPage = lazy(async () => ({
  default: (await loadChunk(() => import('../pages/journal-page.tsx'))).JournalPage,
}))
export const SettingsPage = lazy(async () => ({
  default: (await loadChunk(() => import('../pages/settings/settings-page.tsx'))).SettingsPage,
}))
export const WelcomePage = lazy(async () => ({
  default: (await loadChunk(() => import('../pages/welcome/welcome-page.tsx'))).WelcomePage,
}))
export const DesignPage = lazy(async () => ({
  default: (await loadChunk(() => import('../pages/design-page.tsx'))).DesignPage,
}))
export const ProofDialog = lazy(async () => ({
  default: (await loadChunk(() => import('./proof-dialog.tsx'))).ProofDialog,
}))
export const Palette = lazy(async () => ({
  default: (await loadChunk(() => import('./palette.tsx'))).Palette,
}))
export const KeysDialog = lazy(async () => ({
  default: (await loadChunk(() => import('./keys-dialog.tsx'))).KeysDialog,
}))
/** Loads the palette's code in advance; if that fails, it is loaded when the palette opens. */
export function loadPalette(): void {
  import('./palette.tsx').catch(() => undefined)
}
export const Drawer = lazy(async () => ({ default: (await loadChunk(() => import('./drawer.tsx'))).Drawer }))
