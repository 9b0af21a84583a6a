{{- define "recollect.name" -}}
{{- $name := ternary .Release.Name (print .Release.Name "-recollect") (contains "recollect" .Release.Name) }}
{{- $name | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "recollect.selector" -}}
app.kubernetes.io/name: recollect
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "recollect.labels" -}}
{{ include "recollect.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "recollect.image" -}}
{{- if .Values.image.digest -}}
image: {{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
image: {{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}

{{- define "recollect.podSecurity" -}}
automountServiceAccountToken: false
# Service links would set variables such as RECOLLECT_PORT, which are not settings.
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  # Group of mounted Secrets, whose files the server can read then.
  fsGroup: 10001
  seccompProfile:
    type: RuntimeDefault
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "recollect.secretEnv" -}}
{{- if .from }}
- name: {{ .name }}
  valueFrom:
    secretKeyRef:
      name: {{ .from.name }}
      key: {{ .from.key }}
{{- end }}
{{- end }}

{{- define "recollect.env" -}}
{{- include "recollect.secretEnv" (dict "name" "RECOLLECT_DATABASE__URL" "from" .Values.postgres.url) }}
{{- include "recollect.secretEnv" (dict "name" "RECOLLECT_DATABASE__CHAT_URL" "from" .Values.postgres.chatUrl) }}
{{- include "recollect.secretEnv" (dict "name" "RECOLLECT_INDEX__API_KEY" "from" .Values.qdrant.apiKey) }}
{{- include "recollect.secretEnv" (dict "name" "RECOLLECT_OBJECTS__OPTIONS" "from" .Values.objects.options) }}
{{- include "recollect.secretEnv" (dict "name" "RECOLLECT_AUTH__KEYS" "from" .Values.auth.keys) }}
{{- include "recollect.secretEnv" (dict "name" "RECOLLECT_SECRETS__KEY" "from" .Values.secretsKey) }}
{{- include "recollect.secretEnv" (dict "name" "RECOLLECT_DISTILL__GENERATION__API_KEY" "from" .Values.model.apiKey) }}
{{- range $name, $value := .Values.env }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{- define "recollect.mounts" -}}
- name: config
  mountPath: /etc/recollect
  readOnly: true
- name: tmp
  mountPath: /tmp
{{- if .Values.tls.secretName }}
- name: tls
  mountPath: /etc/recollect-tls
  readOnly: true
{{- end }}
{{- end }}
