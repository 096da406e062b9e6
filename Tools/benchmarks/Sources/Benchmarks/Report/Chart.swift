/// Bars for every engine on every workload: how many times as good as the best rival.
struct Chart {
    private let tables: [Table]

    init(_ tables: [Table]) {
        self.tables = tables.filter { table in
            table.summaries.contains { table.summaries.ratio($0) != nil }
        }
    }

    private static let width = 440
    private static let bar = 16
    private static let labels = 110

    var text: String {
        var heights = [0, 0]
        var body = ""
        for table in tables {
            let column = heights[0] <= heights[1] ? 0 : 1
            body += panel(table, x: 20 + column * (Self.width + 30), y: 20 + heights[column])
            heights[column] += 50 + table.summaries.count * Self.bar
        }
        let (width, height) = (2 * Self.width + 70, max(heights[0], heights[1]) + 20)
        return """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(width)" height="\(height)" \
            viewBox="0 0 \(width) \(height)" font-family="sans-serif" font-size="11">
            <style>
            text { fill: #222; stroke: #fff; stroke-width: 3; paint-order: stroke } .rival { fill: #b5bcc6 } .stratus { fill: #2468b4 }
            .best { stroke: #888; stroke-dasharray: 2 2 } .ground { fill: #fff }
            @media (prefers-color-scheme: dark) {
            text { fill: #ddd; stroke: #15181c } .rival { fill: #59616d } .stratus { fill: #5aa0ee }
            .ground { fill: #15181c }
            }
            </style>
            <rect class="ground" width="100%" height="100%"/>
            \(body)</svg>

            """
    }

    private func panel(_ table: Table, x: Int, y: Int) -> String {
        let ratios = table.summaries.map { table.summaries.ratio($0) ?? 0 }
        let most = max(1, ratios.max() ?? 1)
        let room = Double(Self.width - Self.labels - 110)
        let title = "\(table.workload.rawValue): \(table.workload.title)"
        var text = "<text x=\"\(x)\" y=\"\(y)\" font-weight=\"bold\">\(title)</text>\n"
        let line = Number.fixed(Double(x + Self.labels) + room / most, 1).filter { $0 != "," }
        let bottom = y + 10 + table.summaries.count * Self.bar
        text +=
            "<line class=\"best\" x1=\"\(line)\" x2=\"\(line)\" y1=\"\(y + 8)\" "
            + "y2=\"\(bottom)\"/>\n"
        for (row, summary) in table.summaries.enumerated() {
            let top = y + 10 + row * Self.bar
            let length = Number.fixed(max(1, ratios[row] / most * room), 1)
                .filter { $0 != "," }
            let kind = summary.engine.isRival ? "rival" : "stratus"
            let figure = summary.figureText
            text += """
                <text x="\(x + Self.labels - 6)" y="\(top + 11)" text-anchor="end">\
                \(summary.engine.rawValue)</text>
                <rect class="\(kind)" x="\(x + Self.labels)" y="\(top + 1)" width="\(length)" \
                height="\(Self.bar - 4)"/>
                <text x="\(x + Self.labels + 5 + Int(ratios[row] / most * room))" y="\(top + 11)">\
                \(Number.short(ratios[row])) (\(figure))</text>

                """
        }
        return text
    }
}
