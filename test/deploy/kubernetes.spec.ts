import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import ts from 'typescript';
import { parse, parseAllDocuments } from 'yaml';
import { loadConfig } from '../../src/config/app-config.ts';
import { makeCertificates } from '../support/certificates.ts';
import { type Container, containersOf, kustomize, type Manifest } from './kustomize.ts';

/** The manifests of deploy/kubernetes against the schemas of Kubernetes' API, and what the schemas do not say. */

const WITH_ALL = 'production with all components';
const OVERLAYS = ['sandbox', 'production', 'production-tls', WITH_ALL] as const;
const folder = mkdtempSync(join(tmpdir(), 'kubernetes-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

// What an operator does who takes all components: removes the marks of the comment.
cpSync('deploy/kubernetes', join(folder, 'kubernetes'), { recursive: true });
const PRODUCTION = join(folder, 'kubernetes/overlays/production');
const PLAIN = readFileSync(join(PRODUCTION, 'kustomization.yaml'), 'utf8');
writeFileSync(
  join(PRODUCTION, 'kustomization.yaml'),
  PLAIN.replaceAll(/^# (?=components:|  - \.\.\/)/gm, ''),
);
const folderOf = (overlay: string) =>
  overlay === WITH_ALL ? PRODUCTION : join('deploy/kubernetes/overlays', overlay);

interface Pod {
  readonly serviceAccountName?: string;
  readonly automountServiceAccountToken?: boolean;
  readonly terminationGracePeriodSeconds?: number;
  readonly securityContext: Record<string, unknown>;
  readonly containers: readonly Container[];
  readonly volumes?: readonly { readonly name: string; readonly secret?: { readonly secretName: string } }[];
}

interface Workload extends Manifest {
  readonly spec: {
    readonly replicas?: number;
    readonly selector?: { readonly matchLabels: Record<string, string> };
    readonly template: { readonly metadata: { readonly labels: Record<string, string> }; readonly spec: Pod };
  };
}

const isWorkload = (manifest: Manifest): manifest is Workload => containersOf(manifest).length > 0;
const nameOf = ({ kind, metadata }: Manifest) => `${kind} ${metadata.name}`;
/** The module that has the schema of an object, and its types. */
const moduleOf = ({ apiVersion }: Manifest) =>
  apiVersion.startsWith('monitoring.coreos.com/')
    ? `@kubernetes-models/prometheus-operator/${apiVersion}`
    : `kubernetes-models/${apiVersion}`;

function find<T extends Manifest>(all: readonly Manifest[], kind: string, name = 'gateway'): T {
  const found = all.find((each) => each.kind === kind && each.metadata.name === name);
  if (!found) throw new Error(`there is no ${kind} ${name}`);
  return found as T;
}

it('no overlay has a field that its kind does not have', () => {
  expect(unknownFields(OVERLAYS.flatMap((overlay) => kustomize(folderOf(overlay))))).toEqual([]);
});

describe.each(OVERLAYS)('the overlay %s', (overlay) => {
  const all = kustomize(folderOf(overlay));
  const workloads = all.filter(isWorkload);
  const policies = all.filter(({ kind }) => kind === 'NetworkPolicy');

  it('has each object once, and each fits the schema of its kind', async () => {
    expect(new Set(all.map(nameOf)).size).toBe(all.length);
    for (const manifest of all) {
      const models = (await import(moduleOf(manifest))) as Record<
        string,
        new (of: object) => { validate(): void }
      >;
      const Model = models[manifest.kind];
      if (!Model) throw new Error(`no schema for ${manifest.apiVersion} ${manifest.kind}`);
      expect(() => new Model(manifest).validate()).not.toThrow();
    }
  });

  it.each(workloads.map((each) => [nameOf(each), each] as const))(
    '%s runs without root and rights, says what it needs, and has a NetworkPolicy',
    (_, { spec }) => {
      const { spec: pod, metadata } = spec.template;
      expect(pod).toMatchObject({
        securityContext: {
          runAsNonRoot: true,
          seccompProfile: { type: 'RuntimeDefault' },
          fsGroup: expect.any(Number),
        },
        automountServiceAccountToken: false,
      });
      for (const container of pod.containers)
        expect(container).toMatchObject({
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          },
          resources: {
            requests: { cpu: expect.any(String), memory: expect.any(String) },
            limits: { memory: expect.any(String) },
          },
        });
      const labels = policies.map(
        ({ spec: policy }) =>
          (policy as { podSelector: { matchLabels?: { app?: string } } }).podSelector.matchLabels?.app,
      );
      expect(labels.filter((app) => app === metadata.labels['app'])).toHaveLength(1);
    },
  );

  it('probes what keeps running, and selects it by its own labels', () => {
    for (const { kind, spec } of workloads) {
      if (kind === 'Job') continue;
      for (const container of spec.template.spec.containers) {
        expect(container).toMatchObject({ livenessProbe: {}, readinessProbe: {} });
        // A probe of health in the gateway is answered while it is under load.
        expect(container['livenessProbe']).not.toEqual(container['readinessProbe']);
      }
      expect(spec.template.metadata.labels).toMatchObject(spec.selector?.matchLabels ?? { app: 'none' });
    }
  });

  it('has secrets as files, none in a variable, and no traffic that no policy allows', () => {
    expect(JSON.stringify(all)).not.toMatch(/secretKeyRef|secretRef/);
    expect(policies.map(nameOf)).toContain('NetworkPolicy nothing');
  });

  it('gives the gateway time to end: preStop and the process fit into the grace period', () => {
    const { terminationGracePeriodSeconds = 30, containers } = find<Workload>(all, 'Deployment').spec.template
      .spec;
    const { lifecycle } = containers[0] as unknown as {
      lifecycle: { preStop: { exec: { command: string[] } } };
    };
    const [, seconds] = lifecycle.preStop.exec.command;
    const exit = /const TERM: Ending = \{.*exitMs: ([\d_]+)/.exec(
      readFileSync('src/http/shutdown.ts', 'utf8'),
    )?.[1];
    const processMs = Number(exit?.replaceAll('_', ''));
    expect(terminationGracePeriodSeconds * 1_000).toBeGreaterThan(Number(seconds) * 1_000 + processMs);
  });

  it('keeps replicas of the gateway during a disruption', () => {
    const { replicas } = find<Workload>(all, 'Deployment').spec;
    const { spec: budget } = find<Manifest & { spec: { minAvailable: number } }>(all, 'PodDisruptionBudget');
    const { spec: scaler } = find<Manifest & { spec: { minReplicas: number; maxReplicas: number } }>(
      all,
      'HorizontalPodAutoscaler',
    );
    // A number here would undo what the scaler has chosen under load.
    expect(replicas).toBeUndefined();
    expect(scaler.minReplicas).toBeGreaterThanOrEqual(2);
    expect(budget.minAvailable).toBeLessThan(scaler.minReplicas);
    expect(scaler.maxReplicas).toBeGreaterThanOrEqual(scaler.minReplicas);
  });

  it('lets the gateway and database-init alone reach the database and Redis', () => {
    const egressOf = (name: string, to: number) =>
      find<Manifest & { spec: { egress: { ports?: { port: number }[]; to: object }[] } }>(
        all,
        'NetworkPolicy',
        name,
      )
        .spec.egress.filter(({ ports = [] }) => ports.some(({ port }) => port === to))
        .map((rule) => rule.to);
    for (const port of [5_432, 6_379]) {
      expect(egressOf('gateway', port)).toHaveLength(1);
      expect(egressOf('database-init', port)).toEqual(egressOf('gateway', port));
    }
    const { ingress } = find<Manifest & { spec: { ingress: { from: object[] }[] } }>(
      all,
      'NetworkPolicy',
      'redis',
    ).spec;
    const callers = ['gateway', 'database-init'].map((app) => ({ podSelector: { matchLabels: { app } } }));
    expect(ingress.map(({ from }) => from)).toEqual([callers]);
    const job = find<Workload>(all, 'Job', 'database-init').spec;
    expect(job).toMatchObject({ suspend: true });
    expect(job.template.spec.containers[0]).toMatchObject({
      command: ['node', 'dist/bundle/database-init.js', '--migrate'],
      envFrom: [{ configMapRef: { name: 'gateway' } }],
    });
  });

  it('has images by digest, but for those that the Dockerfile builds', () => {
    const compose = readFileSync('docker-compose.yml', 'utf8');
    const images = new Set(workloads.flatMap(containersOf).map(({ image }) => image));
    for (const image of images) {
      if (image.includes('@sha256:')) expect(compose).toContain(image);
      else expect(image).toMatch(/^licensing-gateway(-sandbox)?:/);
    }
  });

  it('has settings that the gateway starts with', async () => {
    const { data } = find<Manifest & { data: Record<string, string> }>(all, 'ConfigMap');
    // The secrets' files are not in the repository: values of the same form take their places.
    const secrets: Record<string, string> = {
      UPSTREAM_APP_KEY: 'key',
      UPSTREAM_APP_SECRET: 'secret',
      ENCRYPTION_KEYS: `k1:${Buffer.alloc(32).toString('base64')}`,
      REDIS_URL: 'redis://redis:6379',
      DATABASE_URL: 'postgres://gateway:password@database.example.com:5432/gateway?sslmode=verify-full',
    };
    // The authority of the gateway's own certificate did not sign that of the platform.
    expect(data).not.toHaveProperty('UPSTREAM_TLS_CA_FILE');
    const { ca, good } = await makeCertificates();
    const files: Record<string, string> = {
      ...{ 'tls.crt': good.cert, 'tls.key': good.key, 'ca.crt': ca },
      'database-ca.crt': ca,
    };
    for (const [name, pem] of Object.entries(files)) writeFileSync(join(folder, name), pem);
    const environment = Object.fromEntries(
      Object.entries(data).map(([name, value]) => {
        const plain = name.replace(/_FILE$/, '');
        if (basename(value) in files) return [name, join(folder, basename(value))];
        return plain in secrets ? [plain, secrets[plain]] : [name, value];
      }),
    );
    const config = loadConfig(environment);
    expect(config.listen).toMatchObject({
      host: '0.0.0.0',
      port: 3000,
      managementHost: '0.0.0.0',
      managementPort: 9464,
    });
    expect(config.database.init).toBe('manual');
    expect(config.database.address.kind).toBe('postgres');
  });

  it('mounts every secret that a setting names, and probes as the listener speaks', () => {
    const { data } = find<Manifest & { data: Record<string, string> }>(all, 'ConfigMap');
    const files = Object.values(data).filter((value) => value.startsWith('/run/'));
    type Mounting = {
      readonly envFrom?: readonly { readonly configMapRef?: { readonly name: string } }[];
      readonly volumeMounts: readonly { readonly mountPath: string }[];
    };
    const configured = all.filter(isWorkload).filter((each) =>
      (containersOf(each) as unknown as Mounting[]).some(({ envFrom = [], volumeMounts }) => {
        if (!envFrom.some(({ configMapRef }) => configMapRef?.name === 'gateway')) return false;
        const mounted = volumeMounts.map(({ mountPath }) => mountPath);
        for (const path of files)
          expect([nameOf(each), mounted]).toEqual([nameOf(each), expect.arrayContaining([dirname(path)])]);
        return true;
      }),
    );
    expect(configured.map(nameOf).toSorted()).toEqual(['Deployment gateway', 'Job database-init']);
    const { spec } = find<Workload & { spec: { progressDeadlineSeconds?: number } }>(all, 'Deployment');
    const [container] = spec.template.spec.containers;
    const probes = container as unknown as Record<
      `${'startup' | 'liveness' | 'readiness'}Probe`,
      { httpGet: { scheme?: string }; periodSeconds?: number; failureThreshold?: number }
    >;
    // A start may first update large tables.
    const { periodSeconds = 10, failureThreshold = 3 } = probes.startupProbe;
    expect(periodSeconds * failureThreshold).toBeGreaterThanOrEqual(1_800);
    expect(spec.progressDeadlineSeconds ?? 600).toBeGreaterThan(periodSeconds * failureThreshold);
    const scheme = 'TLS_CERT_FILE' in data ? 'HTTPS' : undefined;
    for (const { httpGet } of [probes.startupProbe, probes.livenessProbe, probes.readinessProbe])
      expect(httpGet.scheme).toBe(scheme);
  });

  it('is what kubectl makes of it, where kubectl is installed', () => {
    const { error, status, stdout, stderr } = spawnSync('kubectl', ['kustomize', folderOf(overlay)], {
      encoding: 'utf8',
    });
    if (error || /unknown field|json: cannot unmarshal/.test(stderr)) {
      process.stderr.write(
        `\nNOT COMPARED with kubectl kustomize: ${error ? 'there is no kubectl' : 'kubectl is too old'}\n`,
      );
      return;
    }
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const byName = (of: readonly Manifest[]) => of.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
    const made = parseAllDocuments(stdout).map((document) => document.toJS() as Manifest);
    expect(byName(all)).toEqual(byName(made));
  });
});

it('a managed Redis outside of the cluster is reached with the rules in the comment, by whoever reads it', () => {
  const managed = join(folder, 'kubernetes/overlays/managed-redis');
  cpSync('deploy/kubernetes/overlays/production', managed, { recursive: true });
  writeFileSync(join(managed, 'kustomization.yaml'), PLAIN.replaceAll(/^ {2}# (?=- target|  )/gm, '  '));
  const toOutside = kustomize(managed)
    .filter(({ kind }) => kind === 'NetworkPolicy')
    .flatMap(({ metadata, spec }) => {
      const { egress = [] } = spec as { egress?: { to: { ipBlock?: object }[]; ports: object[] }[] };
      return egress
        .filter(({ to, ports }) => to[0]?.ipBlock && JSON.stringify(ports).includes('6379'))
        .map(({ to }) => [metadata.name, to]);
    });
  const redis = [{ ipBlock: { cidr: '10.30.0.0/24' } }];
  expect(toOutside).toEqual([
    ['gateway', redis],
    ['database-init', redis],
  ]);
});

it('where the sandbox is tried out, the gateway can answer the examples of its API page', () => {
  const { data } = find<Manifest & { data: Record<string, string> }>(
    kustomize(folderOf('sandbox')),
    'ConfigMap',
  );
  const inPods = Object.entries(data).map(([name, value]) => `${name}=${value}`);
  const inCompose = readFileSync('config/sandbox.env', 'utf8').split('\n');
  for (const lines of [inPods, inCompose])
    expect(lines).toEqual(
      expect.arrayContaining(['DOCS=on', 'ESTATE_REFRESH=6h', 'WEBHOOK_HOSTS=127.0.0.1:8080']),
    );
});

it('the database of the sandbox keeps its files in a volume that outlives it', () => {
  const { spec } = find<Workload & { spec: { volumeClaimTemplates: Manifest[] } }>(
    kustomize(folderOf('sandbox')),
    'StatefulSet',
    'database',
  );
  const [claim] = spec.volumeClaimTemplates;
  const [postgres] = spec.template.spec.containers as unknown as {
    env: { name: string; value: string }[];
    volumeMounts: { name: string; mountPath: string }[];
  }[];
  const mount = postgres?.volumeMounts.find(({ name }) => name === claim?.metadata.name)?.mountPath;
  expect(postgres?.env).toContainEqual({ name: 'PGDATA', value: `${mount}/postgresql` });
  expect(spec).toMatchObject({ persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain' } });
});

describe('the components', () => {
  const all = kustomize(PRODUCTION);
  const without = kustomize(folderOf('production'));
  interface Rule {
    readonly to?: readonly { readonly namespaceSelector?: { readonly matchLabels: object } }[];
    readonly from?: readonly { readonly namespaceSelector?: { readonly matchLabels: object } }[];
    readonly ports?: readonly { readonly port: number | string }[];
  }
  const policyOf = (manifests: readonly Manifest[]) =>
    find<Manifest & { spec: { egress: Rule[]; ingress: Rule[] } }>(manifests, 'NetworkPolicy').spec;
  const settings = find<Manifest & { data: Record<string, string> }>(all, 'ConfigMap').data;

  it('are all named in the overlay for production', () => {
    const named = Array.from(PLAIN.matchAll(/^#   - \.\.\/\.\.\/components\/(\w+)/gm), ([, name]) => name);
    expect(named).toEqual(readdirSync('deploy/kubernetes/components').toSorted());
  });

  it('G13 let webhooks reach receivers of the cluster, and spans their collector', () => {
    const before = policyOf(without).egress.map((rule) => JSON.stringify(rule));
    const added = policyOf(all).egress.filter((rule) => !before.includes(JSON.stringify(rule)));
    const [receivers, collector, ...more] = added;
    expect(more).toEqual([]);
    expect(receivers).toEqual({
      to: [{ namespaceSelector: { matchLabels: { 'receives-licensing-webhooks': 'true' } } }],
    });
    const { protocol, hostname, port } = new URL(settings['OTEL_EXPORTER_OTLP_ENDPOINT'] ?? '');
    expect(collector?.ports).toEqual([{ protocol: 'TCP', port: Number(port) }]);
    expect([protocol, hostname]).toEqual(['http:', expect.stringMatching(/\.svc\.cluster\.local$/)]);
    expect(settings['WEBHOOK_HOSTS']).toContain('.svc.cluster.local');
  });

  it('G13 show the Prometheus operator the same pods, job and alerts as any other Prometheus has', () => {
    const monitor = find<Manifest & { spec: Record<string, unknown> }>(all, 'PodMonitor').spec;
    const { metadata, spec } = find<Workload>(all, 'Deployment').spec.template;
    const { labels, annotations } = metadata as unknown as Record<string, Record<string, string>>;
    expect(labels).toMatchObject((monitor['selector'] as { matchLabels: object }).matchLabels);
    expect(labels?.[String(monitor['jobLabel'])]).toBe('gateway');
    const [{ port, path } = { port: '', path: '' }] = monitor['podMetricsEndpoints'] as {
      port: string;
      path: string;
    }[];
    const ports = spec.containers[0]?.['ports'] as { name: string; containerPort: number }[];
    expect([String(ports.find(({ name }) => name === port)?.containerPort), path]).toEqual([
      annotations?.['prometheus.io/port'],
      annotations?.['prometheus.io/path'],
    ]);
    const { groups } = parse(readFileSync('deploy/prometheus/alerts.yml', 'utf8')) as { groups: object };
    expect(find(all, 'PrometheusRule')['spec']).toEqual({ groups });
  });

  it('G13 let the controller of the Ingress in, which passes streams and files on as they arrive', () => {
    const ingress = find<Manifest & { spec: { rules: { http: { paths: { backend: object }[] } }[] } }>(
      all,
      'Ingress',
    );
    const [controller] = policyOf(all).ingress.slice(policyOf(without).ingress.length);
    expect(controller?.ports).toEqual([{ protocol: 'TCP', port: 'http' }]);
    const { spec } = find<Manifest & { spec: { ports: { name: string }[] } }>(all, 'Service');
    const [backend] = ingress.spec.rules.flatMap(({ http }) => http.paths.map((path) => path.backend));
    expect(backend).toEqual({ service: { name: 'gateway', port: { name: spec.ports[0]?.name } } });
    const { annotations } = ingress.metadata as unknown as { annotations: Record<string, string> };
    const ofNginx = (name: string) => annotations[`nginx.ingress.kubernetes.io/${name}`];
    expect(['proxy-buffering', 'proxy-request-buffering', 'proxy-next-upstream'].map(ofNginx)).toEqual([
      'off',
      'off',
      'off',
    ]);
    // The shipped file of nginx has the same value.
    const shipped = readFileSync('deploy/nginx/gateway.conf', 'utf8');
    expect(shipped).toContain(`client_max_body_size ${ofNginx('proxy-body-size')};`);
    expect(Number(ofNginx('proxy-read-timeout'))).toBe(3_600);
  });
});

/** What TypeScript says about the objects as literals of their kinds: a schema tolerates fields that it does not know. */
function unknownFields(all: readonly Manifest[]): string[] {
  const file = join(process.cwd(), 'manifests.virtual.ts');
  const source = all
    .map(
      (each, index) =>
        `import type { I${each.kind} as K${index} } from '${moduleOf(each)}';\nexport const m${index}: K${index} = ${JSON.stringify(each)};`,
    )
    .join('\n');
  const options: ts.CompilerOptions = {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ES2024,
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: [],
    // These libraries declare enough for the kinds, in half of the time.
    lib: ['lib.es5.d.ts'],
  };
  const host = ts.createCompilerHost(options);
  const ofFiles = ts.createCompilerHost(options);
  host.getSourceFile = (name, ...rest) =>
    name === file
      ? ts.createSourceFile(name, source, ts.ScriptTarget.ES2024)
      : ofFiles.getSourceFile(name, ...rest);
  host.fileExists = (name) => name === file || ofFiles.fileExists(name);
  host.readFile = (name) => (name === file ? source : ofFiles.readFile(name));
  return ts
    .getPreEmitDiagnostics(ts.createProgram([file], options, host))
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '));
}
