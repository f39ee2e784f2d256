import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { openApi, type Api } from './api.ts'
import { kubeconfig, type Authority } from './certificates.ts'
import { fabric } from './layout.ts'
import type { Programs } from './programs.ts'
import { keep, run } from './run.ts'
import { until } from './until.ts'

const readyMs = 240_000
/** Calls per second of each controller and of the scheduler; so high that only the machine limits them. */
const callsMax = 500

export interface ControlPlane {
  readonly api: Api
  readonly kubeconfigFile: string
  /** Halts the API server for `ms` milliseconds. */
  halt(ms: number): Promise<void>
}

/** Starts etcd, the API server, the controllers and the scheduler in the network namespace of this process. */
export async function startControlPlane(
  programs: Programs,
  options: {
    readonly folder: string
    readonly authority: Authority
    /** Seconds after which a silent node counts as lost. */
    readonly missedAfterSeconds: number
    readonly onEnd: (program: string, code: number | null) => void
  },
): Promise<ControlPlane> {
  const { folder, authority } = options
  const start = (name: string, program: string, args: readonly string[]) =>
    keep(program, args, {
      logFile: join(folder, `${name}.log`),
      onEnd: (code) => options.onEnd(name, code),
    })
  const [server, admin, tokenKey] = await Promise.all([
    authority.apiServer(),
    authority.admin(),
    authority.tokenKey(),
  ])
  const kubeconfigFile = join(folder, 'admin.json')
  await writeFile(kubeconfigFile, kubeconfig(authority, admin))

  // The data are deleted with the cluster, so etcd need not sync them to the disk.
  const data = join(folder, 'etcd')
  await mkdir(data)
  await run('mount', ['-t', 'tmpfs', 'tmpfs', data])
  start('etcd', programs.etcd, [
    `--data-dir=${data}`,
    '--listen-client-urls=http://127.0.0.1:2379',
    '--advertise-client-urls=http://127.0.0.1:2379',
    '--listen-peer-urls=http://127.0.0.1:2380',
  ])
  const serving = start('kube-apiserver', programs.apiServer, [
    '--etcd-servers=http://127.0.0.1:2379',
    `--advertise-address=${fabric.address}`,
    `--secure-port=${fabric.apiPort}`,
    `--service-cluster-ip-range=${fabric.services}`,
    `--client-ca-file=${authority.certificate}`,
    `--tls-cert-file=${server.certificate}`,
    `--tls-private-key-file=${server.key}`,
    `--kubelet-certificate-authority=${authority.certificate}`,
    `--kubelet-client-certificate=${server.certificate}`,
    `--kubelet-client-key=${server.key}`,
    '--kubelet-preferred-address-types=InternalIP',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${tokenKey}`,
    `--service-account-signing-key-file=${tokenKey}`,
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction',
    '--allow-privileged=true',
    // The etcd of the distribution (3.4.23) lacks what a watch that begins with a list needs. The API server
    // accepts such a watch and then breaks it off, so that clients wait longer and longer. With this gate the
    // server refuses it at once, and clients send a list request.
    '--feature-gates=WatchList=false',
  ])
  const api = openApi({ authority: authority.certificate, certificate: admin.certificate, key: admin.key })
  await until(async () => (await api.get('/readyz')) === 'ok', readyMs, 'the API server is ready')
  start('kube-controller-manager', programs.controllerManager, [
    `--kubeconfig=${kubeconfigFile}`,
    `--root-ca-file=${authority.certificate}`,
    `--service-account-private-key-file=${tokenKey}`,
    '--leader-elect=false',
    `--kube-api-qps=${callsMax}`,
    `--kube-api-burst=${callsMax}`,
    `--node-monitor-grace-period=${options.missedAfterSeconds}s`,
  ])
  start('kube-scheduler', programs.scheduler, [
    `--kubeconfig=${kubeconfigFile}`,
    '--leader-elect=false',
    `--kube-api-qps=${callsMax}`,
    `--kube-api-burst=${callsMax}`,
  ])
  return {
    api,
    kubeconfigFile,
    async halt(ms) {
      serving.kill('SIGSTOP')
      await delay(ms)
      serving.kill('SIGCONT')
    },
  }
}
