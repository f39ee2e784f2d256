import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { kubeconfig } from './certificates.ts'
import type { NodePlace } from './layout.ts'
import type { NodeOptions } from './node.ts'
import type { Programs } from './programs.ts'

/** Writes the configuration files of containerd, the network plugin and the kubelet of a node. */
export async function writeConfiguration(
  programs: Programs,
  { folder, authority, place, controlGroup, seccompProfile }: NodeOptions & { readonly place: NodePlace },
): Promise<void> {
  const keys = await authority.node(place)
  const write = (name: string, text: string) => writeFile(join(folder, name), text)
  await write('kubeconfig.json', kubeconfig(authority, keys))
  await write('no-names', '')
  await write(`kubelet/seccomp/${seccompProfile.name}`, await readFile(seccompProfile.path, 'utf8'))
  await write(
    'cni/10-pods.conflist',
    JSON.stringify({
      cniVersion: '1.0.0',
      name: 'pods',
      plugins: [
        {
          // Every pod has a link of its own to the node, so that traffic between pods of one node passes the rules,
          // too.
          type: 'ptp',
          ipMasq: false,
          ipam: {
            type: 'host-local',
            dataDir: join(folder, 'addresses'),
            ranges: [[{ subnet: place.podRange }]],
            routes: [{ dst: '0.0.0.0/0' }],
          },
        },
        { type: 'tuning', sysctl: { 'net.ipv6.conf.all.disable_ipv6': '1' } },
      ],
    }),
  )
  await write('containerd.toml', containerdConfiguration(programs, folder))
  await write(
    'kubelet.json',
    JSON.stringify({
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      authentication: {
        anonymous: { enabled: false },
        webhook: { enabled: true },
        x509: { clientCAFile: authority.certificate },
      },
      authorization: { mode: 'Webhook' },
      tlsCertFile: keys.certificate,
      tlsPrivateKeyFile: keys.key,
      containerRuntimeEndpoint: `unix://${join(folder, 'containerd.sock')}`,
      cgroupDriver: 'cgroupfs',
      cgroupRoot: `/${controlGroup}/${place.name}`,
      failCgroupV1: false,
      failSwapOn: false,
      // The default is below 0, which needs a capability that root may lack.
      oomScoreAdj: 0,
      protectKernelDefaults: true,
      podPidsLimit: 256,
      resolvConf: join(folder, 'no-names'),
      volumePluginDir: join(folder, 'plugins'),
      evictionHard: { 'memory.available': '50Mi', 'nodefs.available': '1%', 'imagefs.available': '1%' },
      imageGCHighThresholdPercent: 100,
      imageGCLowThresholdPercent: 99,
      nodeStatusUpdateFrequency: '5s',
    }),
  )
}

function containerdConfiguration(programs: Programs, folder: string): string {
  return `version = 2
root = "${folder}/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.internal.v1.opt"]
[grpc]
  address = "${folder}/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${pauseImage}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${programs.networkPlugins}"
    conf_dir = "${folder}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
`
}

/** Image of the process that holds the namespaces of a pod. */
export const pauseImage = 'flotilla.local/pause:1'
